"""The middleware's part in the accelerator: `serve` and `send` in C, and the Python functions for all that is unusual.

Nothing in here runs where the accelerator does not.
"""

from __future__ import annotations

from collections.abc import Awaitable
from inspect import get_annotations
from types import ModuleType
from typing import Any, Protocol

from ..acceleration import native
from ..agent import Agent
from ..profile.request_clock import request_clock
from ..profile.timed_steps import running_loop
from ..request.faults import Faults
from ..request.pending import PendingRequest
from ..request.state import Following
from .ending import end
from .lifespan import App, Receive, Scope, Send
from .send import Message, note_message, send_and_follow, traced_send
from .timed import splits_every, timed


class Serving(Protocol):
    """Serves the requests of one middleware.

    :ivar under_way: how many requests have not ended
    :ivar waiting: called when the last one ends; None: nothing waits for it
    """

    under_way: int
    waiting: Any

    def __call__(self, app: App, scope: Scope, receive: Receive, send: Send, /) -> Awaitable[object] | None:
        """Call the application. None: this is no request, or a middleware outside of this one has taken it.

        :raises BaseException: whatever the application raises before it is awaited
        """
        ...


def serving(app: App, agent: Agent, faults: Faults) -> Serving | None:
    """A new one; None where the accelerator does not run."""
    if native is None:
        return None
    every = splits_every(agent.config)
    is_each = every == 1
    steps_here = agent.steps_here if every else _no_steps
    by_python = [timed(app, 1, lists_tasks, steps_here, faults, is_each=is_each) for lists_tasks in (0, 1)]

    def time_otherwise(
        request: PendingRequest, scope: Scope, receive: Receive, send: Send, lists_tasks: bool
    ) -> Awaitable[Any]:
        # tasks are listed, or the loop is none of asyncio's
        return by_python[lists_tasks](request, scope, receive, send)

    made: Serving = native.Serving(
        PendingRequest, agent.tracer, faults, end, every, agent.config.task_tree_every, steps_here,
        time_otherwise,
    )  # fmt: skip
    return made


def _no_steps() -> None:
    """Where no time is split."""


def _configure(native: ModuleType) -> None:
    native.configure_served(request_clock=request_clock, running_loop=running_loop)
    # for code that inspects a function: the flags of a coroutine function, and a signature
    native.configure_send(
        make_otherwise=traced_send,
        send_and_follow=send_and_follow,
        following=Following,
        note=note_message,
        face=_face_of_function(send),
    )


async def send(message: Message) -> None:
    """Send one message to the server."""


def _face_of_function(function: Any) -> dict[str, Any]:
    names = ("__code__", "__defaults__", "__kwdefaults__", "__name__", "__qualname__", "__module__")
    # no texts, which `typing.get_type_hints` would look up in a function's module
    annotations = get_annotations(function, eval_str=True)
    return {**{name: getattr(function, name) for name in names}, "__annotations__": annotations}


if native is not None:
    _configure(native)
