"""The messages of one lifespan scope, which pass through the agent.

The application's final message is held back until the agent has drained, because a server may end the process right
after it. An application that goes on receiving after its final message is cancelled, because the server waits for that
message. If an application has no lifespan (it raises before it has started, or returns without a message), the server
sees just that: it decides, by its own settings, whether to serve.
"""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import anyio

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def freeze_garbage() -> None:
    """Collect, and exclude all that is alive now from later collections. Does nothing without `gc.freeze` (PyPy)."""
    freeze = getattr(gc, "freeze", None)
    if freeze is not None:
        gc.collect()
        freeze()


class Lifespan:
    """The `receive` and `send` of one lifespan scope."""

    def __init__(self, receive: Receive, send: Send, *, has_started: Callable[[], object] | None = None) -> None:
        """:param has_started: called once the application has started, before the server knows it; must not raise"""
        self._receive = receive
        self._send = send
        self._note_started = has_started
        self._got_startup = False
        self._got_shutdown = False
        self._has_started = False
        self.is_missing = False
        """Whether the application has raised or returned without a message: by the specification it has no lifespan."""
        self._final: Message | None = None
        self._cancel_scope = anyio.CancelScope()

    async def serve(self, app: App, scope: Scope) -> Any:
        """Run the application's lifespan. What it raises passes. If it returns once it has started, wait for the
        shutdown.

        :returns: what the application returns
        """
        call: Any = app
        result: Any = None
        try:
            with self._cancel_scope:
                result = await call(scope, self._receive_for_app, self._send_for_app)
        except Exception:
            self.is_missing = not self._has_started and self._final is None
            raise
        self.is_missing = not self._has_started and self._final is None
        if self._final is None and self._has_started:
            await self._wait_for_shutdown()
        return result

    async def fail(self, reason: str) -> None:
        """Send to the server that the start failed."""
        if not self._got_startup:
            await self._receive_for_app()
        await self._send({"type": "lifespan.startup.failed", "message": reason})

    async def finish(self) -> None:
        """Pass on the final message."""
        if self._final is not None:
            await self._send(self._final)

    async def _receive_for_app(self) -> Message:
        if self._final is not None:
            # Quart after a start that failed: it gets no more messages
            self._cancel_scope.cancel()
            await anyio.sleep_forever()
        message = await self._receive()
        self._got_startup = self._got_startup or message["type"] == "lifespan.startup"
        self._got_shutdown = self._got_shutdown or message["type"] == "lifespan.shutdown"
        return message

    async def _send_for_app(self, message: Message) -> None:
        if message["type"] == "lifespan.startup.complete":
            self._has_started = True
            if self._note_started is not None:
                self._note_started()
            await self._send(message)
        else:
            self._final = message

    async def _wait_for_shutdown(self) -> None:
        # a server need not send any other message after the start
        while not self._got_shutdown and (await self._receive_for_app())["type"] == "lifespan.startup":
            pass
        self._final = {"type": "lifespan.shutdown.complete"}
