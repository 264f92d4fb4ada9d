"""One lifespan conversation between server and application, with the agent standing between them.

The application's last word is held back until the agent has drained, because a server may end the process right after
it. An application without a lifespan (it raises, or returns without a word) is spoken for, so that the agent has its
home all the same. One that listens on after its last word is ended, because the server waits for that word.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import anyio

from ..agent_log import say

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def freeze_garbage() -> None:
    """Collect, and spare every later collection what is alive now. Nothing where Python has no such thing (PyPy)."""
    freeze = getattr(gc, "freeze", None)
    if freeze is not None:
        gc.collect()
        freeze()


class Lifespan:
    """The `receive` and `send` of one lifespan scope."""

    def __init__(self, receive: Receive, send: Send, *, has_started: Callable[[], object] | None = None) -> None:
        """:param has_started: called once the application has started, before the server is told; must not raise"""
        self._receive = receive
        self._send = send
        self._note_started = has_started
        self._heard_startup = False
        self._heard_shutdown = False
        self._has_started = False
        self._last_word: Message | None = None
        self._conversation = anyio.CancelScope()

    async def serve(self, app: App, scope: Scope) -> None:
        """Run the application's lifespan, and stand in for what it leaves out. Its exceptions after start-up pass."""
        try:
            with self._conversation:
                await app(scope, self._hear, self._say)
        except Exception as error:
            if self._has_started or self._last_word is not None:
                raise
            # by the ASGI specification, raising here means that the application has no lifespan
            say(logging.DEBUG, "the application has no lifespan", exc_info=error)
        if self._last_word is None:
            await self._stand_in()

    async def fail(self, reason: str) -> None:
        """Tell the server that the start failed."""
        if not self._heard_startup:
            await self._hear()
        await self._send({"type": "lifespan.startup.failed", "message": reason})

    async def finish(self) -> None:
        """Pass on the last word."""
        if self._last_word is not None:
            await self._send(self._last_word)

    async def _hear(self) -> Message:
        if self._last_word is not None:
            # Quart after a start that failed: nothing more will be said to it
            self._conversation.cancel()
            await anyio.sleep_forever()
        message = await self._receive()
        self._heard_startup = self._heard_startup or message["type"] == "lifespan.startup"
        self._heard_shutdown = self._heard_shutdown or message["type"] == "lifespan.shutdown"
        return message

    async def _say(self, message: Message) -> None:
        if message["type"] == "lifespan.startup.complete":
            self._has_started = True
            if self._note_started is not None:
                self._note_started()
            await self._send(message)
        else:
            self._last_word = message

    async def _stand_in(self) -> None:
        if not self._heard_startup:
            await self._hear()
        if not self._has_started:
            await self._say({"type": "lifespan.startup.complete"})
        # any other message after the start is none that a server has to send
        while not self._heard_shutdown and (await self._hear())["type"] == "lifespan.startup":
            pass
        self._last_word = {"type": "lifespan.shutdown.complete"}
