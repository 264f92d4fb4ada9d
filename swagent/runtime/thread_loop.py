"""An asyncio loop for a thread of its own: it goes on whatever is raised in it, and ends whatever hangs in it.

The end: every task is cancelled and given a moment. A task that was left behind has had its moment already. Then
asynchronous generators are closed, connections are aborted, and what still hangs is closed by force. So the loop leaves
nothing half done to the garbage collector, whose warnings would reach the application.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import sys
import threading
from collections.abc import Callable, Coroutine, Generator, Mapping
from contextlib import contextmanager
from typing import Any

# Seconds that tasks have to end once they are cancelled, and asynchronous generators once they are closed.
_MOMENT = 0.1
# Rounds of the loop in which connections that were aborted close their sockets.
_ROUNDS = 3


_NAME = "swagent"
# stdin, stdout and stderr
_STANDARD = (0, 1, 2)


def new_loop(uvloop: bool | None = None) -> asyncio.AbstractEventLoop:
    """A loop whose tasks have a name: without one they would take numbers, and the application's first task would not
    be `Task-1`.

    :param uvloop: whether it is uvloop's; None: if that is installed. If stdin, stdout or stderr is closed, it is
        asyncio's: uvloop aborts the process when it closes a descriptor of theirs
    :raises OSError: when there is no descriptor to spare
    """
    loop = _made_by_uvloop() if uvloop is not False and _are_standard_open() else None
    if loop is None:
        with above_standard(), _without_log():
            # by name: the application may have a policy that makes a loop of its own kind
            loop = asyncio.new_event_loop() if sys.platform == "win32" else asyncio.SelectorEventLoop()
    loop.set_task_factory(_named_task)
    # in its debug mode, as with `-X dev`, asyncio logs steps that take long: those of this loop hold up no request
    loop.slow_callback_duration = math.inf
    return loop


@contextmanager
def _without_log() -> Generator[None, None, None]:
    """A block in which asyncio logs nothing in this thread, such as which selector it uses: the application may wait
    for us, and its handler for the application."""
    thread = threading.get_ident()
    logger = logging.getLogger("asyncio")

    def is_of_another(record: logging.LogRecord) -> bool:
        return record.thread != thread

    logger.addFilter(is_of_another)
    try:
        yield
    finally:
        logger.removeFilter(is_of_another)


@contextmanager
def above_standard() -> Generator[None, None, None]:
    """A block in which no file that is opened takes the place of stdin, stdout or stderr: what the application, or a
    library, writes to those would go there.

    :raises OSError: when there is no descriptor to spare
    """
    taken: list[int] = []
    try:
        while not _are_standard_open():
            taken.append(os.open(os.devnull, os.O_RDONLY))
        yield
    finally:
        for each in taken:
            os.close(each)


def _are_standard_open() -> bool:
    try:
        for each in _STANDARD:
            os.fstat(each)
    except OSError:
        return False
    return True


def _made_by_uvloop() -> asyncio.AbstractEventLoop | None:
    try:
        import uvloop  # noqa: PLC0415, RUF100  (optional)
    except ImportError:
        return None
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


def _named_task(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
    # until Python 3.13 the loop sets the name that it was given afterwards
    options["name"] = options.get("name") or _NAME
    return asyncio.Task(coroutine, loop=loop, **options)


class ThreadLoop:
    """A loop with its end. Everything but the making is done in the thread.

    :ivar loop: the loop itself, for `call_soon_threadsafe`
    """

    def __init__(self, on_problem: Callable[[Mapping[str, Any]], object] | None) -> None:
        """
        :param on_problem: called in the thread with what asyncio logs by default
        :raises OSError: when there is no descriptor to spare
        """
        self.loop = new_loop()
        if on_problem is not None:
            self.loop.set_exception_handler(lambda _, problem: on_problem(problem))
        self._connections: list[asyncio.Transport] = []
        self._note_connections()
        self._left_behind: set[asyncio.Task[Any]] = set()
        self._is_stopping = False

    def _note_connections(self) -> None:
        """Keep a list of the open connections: a loop that is closed with one warns of it, and uvloop does not list
        them."""
        connect: Any = self.loop.create_connection

        async def create_connection(*args: Any, **options: Any) -> Any:
            transport, protocol = await connect(*args, **options)
            self._connections = [each for each in self._connections if not each.is_closing()]
            self._connections.append(transport)
            return transport, protocol

        vars(self.loop)["create_connection"] = create_connection

    def run(self) -> None:
        """Run until `stop`, and end. Never raises."""
        while not self._is_stopping:
            try:
                self.loop.run_forever()
            except (SystemExit, KeyboardInterrupt) as error:
                self._report("a library raised the end of the process", error)
            except Exception as error:  # noqa: BLE001, RUF100  (such as a selector that was closed)
                self._report("the loop failed", error)
                break
        for step in (self._end_tasks, self._end_generators, self._end_connections):
            self._try(self._run_step, step)
        closed: set[asyncio.Task[Any]] = set()
        while left := asyncio.all_tasks(self.loop) - closed:
            closed |= left
            for task in left:
                self._try(_close, task)
        self._try(self.loop.close)

    def stop(self) -> None:
        """End the loop."""
        self._is_stopping = True
        self.loop.stop()

    def leave_behind(self, task: asyncio.Task[Any]) -> None:
        """At the end, do not wait for a task."""
        self._left_behind.add(task)
        task.add_done_callback(self._left_behind.discard)

    async def _end_tasks(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        if waiting := tasks - self._left_behind:
            done, _ = await asyncio.wait(waiting, timeout=_MOMENT)
            for task in done:
                _ = task.cancelled() or task.exception()  # looked at, or asyncio reports it

    async def _end_generators(self) -> None:
        await asyncio.wait({asyncio.ensure_future(self.loop.shutdown_asyncgens())}, timeout=_MOMENT)

    async def _end_connections(self) -> None:
        for connection in self._connections:
            connection.abort()
        self._connections.clear()
        for _ in range(_ROUNDS):
            await asyncio.sleep(0)

    def _run_step(self, step: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.loop.run_until_complete(step())

    def _try(self, function: Callable[..., object], *args: Any) -> None:
        try:
            function(*args)
        except BaseException as error:  # noqa: BLE001, RUF100  (the thread comes to its end)
            self._report("the loop did not end well", error)

    def _report(self, message: str, error: BaseException) -> None:
        self.loop.call_exception_handler({"message": f"{message}, in the thread of the transports", "exception": error})


def _close(task: asyncio.Task[Any]) -> None:
    """Run a coroutine's `finally` here and now, and keep asyncio from warning of its task."""
    task._log_destroy_pending = False  # type: ignore[attr-defined] # noqa: SLF001
    coroutine: Any = task.get_coro()
    coroutine.close()
