"""An asyncio loop in a thread of its own, so that a test on any backend can talk to asyncio servers:
`await thread.call(collector.start)` from asyncio, uvloop or trio, `thread.run(collector.stop)` where blocking is fine.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextvars import Context
from types import TracebackType
from typing import Any, TypeVar

import anyio
from typing_extensions import Self

from swagent.backend import loop_notifier

T = TypeVar("T")
PATIENCE = 5.0


class LoopThread:
    """Runs coroutine functions in its own loop. An error that reaches that loop's exception handler is raised at the
    end."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop
        self._thread = threading.Thread(target=self._live, name="loop-thread", daemon=True)
        self.problems: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(lambda _, context: self.problems.append(context))
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        if error is None and self.problems:
            raise AssertionError(f"a test server had problems: {self.problems}")

    def run(self, function: Callable[..., Awaitable[T]], *args: Any) -> T:
        """Run a coroutine function in the thread; blocks the caller."""
        return self._submit(function, *args).result(PATIENCE)

    async def call(self, function: Callable[..., Awaitable[T]], *args: Any) -> T:
        """Run a coroutine function in the thread; any backend. Cancelled, it cancels the function."""
        done, door = anyio.Event(), loop_notifier()
        future = self._submit(function, *args)
        future.add_done_callback(lambda _: door(done.set))
        try:
            await done.wait()
        except BaseException:
            future.cancel()
            raise
        return future.result()

    def _submit(self, function: Callable[..., Awaitable[T]], *args: Any) -> Future[T]:
        async def call() -> T:
            return await function(*args)

        # the caller's own context says which library runs there, which is not the one here
        return Context().run(asyncio.run_coroutine_threadsafe, call(), self._loop)

    def _live(self) -> None:
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(self._end())
        finally:
            self._loop.close()

    async def _end(self) -> None:
        remaining = asyncio.all_tasks() - {asyncio.current_task()}
        for task in remaining:
            task.cancel()
        await asyncio.gather(*remaining, return_exceptions=True)
        await asyncio.sleep(0)  # aborted transports close their sockets in the loop's next round
        await self._loop.shutdown_asyncgens()
        await self._loop.shutdown_default_executor()
