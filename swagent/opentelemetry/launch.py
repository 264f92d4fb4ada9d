"""Installs OpenTelemetry's instrumentations in each Python process of the command of `swagent run`."""

from __future__ import annotations

import logging
import re
import sys
from importlib.util import find_spec

from ..agent_log import log, say
from ..config import Config
from ..instrument.installation import known
from ..runtime.start_calls import at_start
from ..startup.entry_points import may_exist
from ..startup.import_hook import is_being_imported, when_imported
from .installation import covered_natively, install, report

# Left off by itself: tasks and threads carry the context already, and a command of click's is the program that was
# started, whose span would be open for as long as a server lives.
_UNWANTED = frozenset({"asyncio", "click", "threading"})
_PROPAGATORS = "opentelemetry.propagate"
NAME = "opentelemetry"
"""By which `SW_AGENT_DISABLE_PLUGINS` leaves the bridge out."""


def bridge_when_imported(config: Config) -> None:
    """Put the bridge in place once OpenTelemetry's API is imported; now, where any of its instrumentations may be
    installed, as they wait for libraries. Never raises."""
    if may_exist(b"[opentelemetry_instrumentor]") and not _is_api_partial():
        bridge(config)
    else:
        _wait_for_api(config)


def _wait_for_api(config: Config) -> None:
    begun = False

    def begin(_: object) -> None:
        nonlocal begun
        if not begun:
            begun = True
            bridge(config)

    def begin_unless_partial(module: object) -> None:
        if not _is_api_partial():
            begin(module)

    when_imported(_PROPAGATORS, begin)
    when_imported("opentelemetry.trace", begin_unless_partial)


def _is_api_partial() -> bool:
    """Whether the propagators are being imported. They import the tracers; the bridge needs both."""
    propagators = sys.modules.get(_PROPAGATORS)
    return propagators is not None and is_being_imported(propagators)


def bridge(config: Config) -> None:
    """Put the bridge in place, where OpenTelemetry's API is installed and the settings do not leave it out. Never
    raises: the command would not start."""
    if find_spec(NAME) is None or is_left_out(config):
        return
    try:
        if install(covered=covered_natively() | _UNWANTED):
            at_start(announce)
    except Exception as error:  # noqa: BLE001, RUF100  (another package's instrumentations)
        say(logging.WARNING, "OpenTelemetry's instrumentations are not bridged: %r", error)


def announce() -> None:
    """Say what the bridge records, at the agent's start. Never raises."""
    # finding out what is installed takes a while
    if log.isEnabledFor(logging.INFO) and log.hasHandlers():
        lines = summary()
        if lines:
            say(logging.INFO, "of OpenTelemetry: %s", "; ".join(lines))


def summary() -> list[str]:
    """Each OpenTelemetry instrumentation whose library is installed, with what became of it."""
    if find_spec("opentelemetry.instrumentation") is None:
        return []
    from .instrumentors import BridgeState  # noqa: PLC0415, RUF100

    return [
        f"{each.name} ({each.state.value}{': ' if each.reason else ''}{each.reason})"
        for each in report()
        if each.state is not BridgeState.ABSENT
    ]


def preview(config: Config) -> list[str]:
    """The state that each installed OpenTelemetry instrumentation would have. This imports nothing."""
    if find_spec(NAME) is None:
        return []
    if is_left_out(config):
        return ["the bridge is switched off by SW_AGENT_DISABLE_PLUGINS"]
    native = {name: each.name for each in known() for name in each.opentelemetry}
    native |= dict.fromkeys(_UNWANTED, "swagent run")
    from importlib.metadata import entry_points  # noqa: PLC0415, RUF100

    points = sorted({point.name for point in entry_points(group="opentelemetry_instrumentor")})
    return [f"{name}  {'native: ' + native[name] if name in native else 'bridge'}" for name in points]


def is_left_out(config: Config) -> bool:
    """Whether the settings leave the bridge out."""
    return any(re.match(each, NAME) for each in config.disable_plugins)
