"""swagent: traces of Python applications for Apache SkyWalking, on asyncio and trio.

A name is imported when it is first asked for. `swagent run` needs few of them before it becomes the command, and an
application that only records does not need an agent's pipelines.

It asserts nothing, so pytest need not rewrite it, nor warn of that: PYTEST_DONT_REWRITE.
"""

from __future__ import annotations

# `typing` itself is slow to import, and type checkers know the name
TYPE_CHECKING = False
if TYPE_CHECKING:
    from .agent import Agent as Agent
    from .config import Config as Config
    from .errors import AgentStateError as AgentStateError
    from .errors import ConfigError as ConfigError
    from .errors import SwagentError as SwagentError
    from .hosting.agent_thread import start as start
    from .hosting.agent_thread import stop as stop
    from .record.trace.calls import cache_span as cache_span
    from .record.trace.calls import database_span as database_span
    from .record.trace.calls import message_span as message_span
    from .record.trace.calls import rpc_span as rpc_span
    from .record.trace.context_snapshot import ContextSnapshot as ContextSnapshot
    from .record.trace.context_snapshot import capture as capture
    from .record.trace.model import Component as Component
    from .record.trace.model import Layer as Layer
    from .record.trace.span import Span as Span
    from .record.trace.spans import current_span as current_span
    from .record.trace.spans import current_trace_id as current_trace_id
    from .record.trace.spans import entry_span as entry_span
    from .record.trace.spans import exit_span as exit_span
    from .record.trace.spans import get_correlation as get_correlation
    from .record.trace.spans import local_span as local_span
    from .record.trace.spans import put_correlation as put_correlation
    from .record.trace.spans import trace as trace

__version__ = "0.1.0"

_NAMES = {
    ".agent": ("Agent",),
    ".config": ("Config",),
    ".errors": ("AgentStateError", "ConfigError", "SwagentError"),
    ".record.trace.calls": ("cache_span", "database_span", "message_span", "rpc_span"),
    ".record.trace.context_snapshot": ("ContextSnapshot", "capture"),
    ".record.trace.model": ("Component", "Layer"),
    ".record.trace.span": ("Span",),
    ".record.trace.spans": (
        "current_span",
        "current_trace_id",
        "entry_span",
        "exit_span",
        "get_correlation",
        "local_span",
        "put_correlation",
        "trace",
    ),
    ".hosting.agent_thread": ("start", "stop"),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}

# not for a type checker, which would take any name then
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module  # noqa: PLC0415, RUF100  (as above)

        found = globals()[name] = getattr(import_module(_MODULES[name], __name__), name)
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *_MODULES})
