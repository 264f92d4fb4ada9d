"""Running one program, and seeing all that an application could see of it."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import gc
import inspect
import io
import logging
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

import anyio

from differential.observation import describe, observe, same, surface
from differential.program import Program

_AWAITING = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_FILE = "<program>"
_SETTLING = 1.0
_WAITING = 10.0
Around = Callable[[str], contextlib.AbstractContextManager[object]]


class Odd:
    """An argument that no library expects: it fails at each look but `repr`."""

    def __str__(self) -> str:
        raise LookupError("an odd object has no text")

    def __repr__(self) -> str:
        return "Odd()"

    def __eq__(self, other: object) -> bool:
        raise LookupError("an odd object is equal to none")

    def __hash__(self) -> int:
        raise LookupError("an odd object has no hash")

    def __bool__(self) -> bool:
        raise LookupError("an odd object is neither true nor false")


class Steps:
    """Awaits something, and cancels it where it waits for the n-th time."""

    def __init__(self, awaited: Any, last: int, cancel: Callable[[], object]) -> None:
        self._awaited = awaited
        self._last = last
        self._cancel = cancel

    def __await__(self) -> Any:
        inner = self._awaited.__await__()
        step: Callable[[], Any] = lambda: inner.send(None)  # noqa: E731
        count = 0
        while True:
            try:
                waits_for = step()
            except StopIteration as stop:
                return stop.value
            count += 1
            if count == self._last:
                self._cancel()
            try:
                sent = yield waits_for
            except BaseException as error:
                step = lambda error=error: inner.throw(error)  # type: ignore[misc] # noqa: E731
            else:
                step = lambda sent=sent: inner.send(sent)  # type: ignore[misc] # noqa: E731


class Run:
    """One program's namespace, and what came of its lines."""

    def __init__(self, program: Program, setup: str, variables: dict[str, str]) -> None:
        self.program = program
        self.setup = setup
        self.lines: list[Any] = []
        self.events: list[Any] = []
        self.elsewhere: list[Any] = []
        self._thread = threading.get_ident()
        self.ends: list[Any] = []
        self.to_close: list[tuple[Any, ...]] = []
        # a module, so that classes of the program are found where they say that they are
        module = ModuleType("program")
        sys.modules["program"] = module
        self.names: dict[str, Any] = module.__dict__
        self.names |= {
            **variables, "Odd": Odd, "describe": describe, "surface": surface,
            "event": self._note, "in_thread": in_thread, "in_pool": in_pool,
            "at_end": lambda function, *args: self.to_close.append((function, *args)), "enter": self._enter,
            "aenter": self._aenter, "asgi": asgi, "wsgi": wsgi, "cancelled": self._cancelled, "spawned": self._spawned,
        }  # fmt: skip

    def _note(self, *what: Any) -> None:
        is_here = threading.get_ident() == self._thread
        # how two threads come one after the other is the machine's doing
        (self.events if is_here else self.elsewhere).append(observe(what))

    def _enter(self, manager: Any) -> Any:
        entered = manager.__enter__()
        self.to_close.append((manager.__exit__, None, None, None))
        return entered

    async def _aenter(self, manager: Any) -> Any:
        entered = await manager.__aenter__()
        self.to_close.append((manager.__aexit__, None, None, None))
        return entered

    async def _cancelled(self, steps: int, make: Callable[[], Any]) -> Any:
        if self.program.loop == "trio":
            import trio

            with trio.CancelScope() as scope:
                return await Steps(make(), steps, scope.cancel)
            return "cancelled"

        async def call() -> Any:
            task = asyncio.current_task()
            assert task is not None
            return await Steps(make(), steps, task.cancel)

        return await asyncio.ensure_future(call())

    async def _spawned(self, make: Callable[[], Any]) -> Any:
        if self.program.loop == "trio":
            import trio

            results: list[Any] = []

            async def call() -> None:
                results.append(await make())

            async with trio.open_nursery() as nursery:
                nursery.start_soon(call)
            return results

        async def call_here() -> Any:
            return await make()

        return await asyncio.gather(call_here(), return_exceptions=True)

    async def live(self) -> None:
        """All of it, in a loop or, where nothing is awaited, without one."""
        try:
            await self._execute(self.setup, "exec")
        except Exception as error:
            self.ends.append({"setup": observe(error)})
        else:
            for name, text in self.program.lines:
                try:
                    self.names[name] = value = await self._execute(text, "eval")
                    self.lines.append({"value": observe(value)})
                except BaseException as error:
                    if isinstance(error, (KeyboardInterrupt, GeneratorExit)):
                        raise
                    self.names[name] = None
                    self.lines.append({"raises": observe(error)})
        await self._close()

    async def _execute(self, source: str, kind: str) -> Any:
        code = compile(source, _FILE, kind, flags=_AWAITING)
        result = eval(code, self.names)
        if not code.co_flags & inspect.CO_COROUTINE:
            return result
        # a wait for ever on both sides is no difference, and need not cost the process
        with anyio.fail_after(_WAITING):
            return await result

    async def _close(self) -> None:
        for function, *args in reversed(self.to_close):
            try:
                result = function(*args)
                if inspect.isawaitable(result):
                    await result
            except Exception as error:
                self.ends.append({"close": observe(error)})
        self.to_close.clear()


def in_thread(call: Callable[[], Any]) -> Any:
    """Its outcome, from another thread."""
    outcomes: list[Any] = []

    def run() -> None:
        try:
            outcomes.append(call())
        except BaseException as error:
            outcomes.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(outcomes[0], BaseException):
        raise outcomes[0]
    return outcomes[0]


def in_pool(call: Callable[[], Any]) -> Any:
    """The same, from a pool's thread."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call).result()


def asgi(app: Any) -> Any:
    """An ASGI application, behind the middleware where there is an agent."""
    if "swagent" not in sys.modules:
        return app
    from swagent.asgi import SkyWalkingMiddleware

    return SkyWalkingMiddleware(app)


def wsgi(app: Any) -> Any:
    """A WSGI application, likewise."""
    if "swagent" not in sys.modules:
        return app
    from swagent.wsgi import SkyWalkingMiddleware

    return SkyWalkingMiddleware(app)


def execute(
    program: Program, setup: str, variables: dict[str, str], around: Around, *, settles: bool = True
) -> dict[str, Any]:
    """Run a program to its end. Returns what was seen of it.

    :param settles: whether what it leaves is to be seen
    """
    before = _threads(), _descriptors(variables)
    run = Run(program, setup, variables)
    seen: dict[str, Any] = {"lines": run.lines, "events": run.events, "ends": run.ends}
    with _watching(seen):
        with around(f"program {program.world}") if program.is_inside else contextlib.nullcontext():
            _in_loop(program.loop, run)
        seen["elsewhere"] = sorted(run.elsewhere, key=str)
        run.names.clear()
        gc.collect()
    deadline = time.monotonic() + _SETTLING
    while True:
        threads = _left(_threads, before[0])
        descriptors = _left(lambda: _descriptors(variables), before[1])
        # what was asked to end takes a moment to do so
        if not (threads or descriptors) or time.monotonic() > deadline or not settles:
            break
        time.sleep(0.01)
    if settles:
        seen["threads"], seen["descriptors"] = sorted(map(same, threads)), sorted(descriptors)
    return seen


def _in_loop(loop: str, run: Run) -> None:
    if loop == "":
        with contextlib.suppress(StopIteration):
            run.live().send(None)
        return
    if loop == "trio":
        import trio

        trio.run(run.live)
        return
    made = _made(loop)

    def note(_: object, context: dict[str, Any]) -> None:
        # the whole text has a future's repr in it, with the place where it was made; and a garbage collector finds what
        # is unclosed at any time
        if not context["message"].startswith("Unclosed"):
            run.ends.append({"loop": same(context["message"]), "error": observe(context.get("exception"))})

    made.set_exception_handler(note)
    asyncio.set_event_loop(made)
    try:
        made.run_until_complete(run.live())
        made.run_until_complete(_settled())
        left = sorted(same(repr(each.get_coro())) for each in asyncio.all_tasks(made))
        run.ends.append({"tasks": left})
        made.run_until_complete(made.shutdown_asyncgens())
        made.run_until_complete(made.shutdown_default_executor())
        gc.collect()
    finally:
        asyncio.set_event_loop(None)
        made.close()


async def _settled() -> None:
    """Give tasks that are about to end the time for it."""
    if left := asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait(left, timeout=_SETTLING)


def _made(loop: str) -> asyncio.AbstractEventLoop:
    if loop == "asyncio":
        return asyncio.new_event_loop()
    import uvloop

    made: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return made


@contextlib.contextmanager
def _watching(seen: dict[str, Any]) -> Iterator[None]:
    """Note all that goes past the lines: warnings, log records, output, errors that could not be raised."""
    records: list[Any] = []
    strays: list[Any] = []
    handler = _Handler(records)
    output = io.StringIO(), io.StringIO()
    hooks = sys.unraisablehook, threading.excepthook
    sys.unraisablehook = lambda stray: strays.append([observe(stray.exc_value), same(repr(stray.err_msg))])
    threading.excepthook = lambda stray: strays.append(observe(stray.exc_value))
    logging.root.addHandler(handler)
    level = logging.root.level
    logging.root.setLevel(logging.INFO)
    try:
        with (
            contextlib.redirect_stdout(output[0]),
            contextlib.redirect_stderr(output[1]),
            warnings.catch_warnings(record=True) as caught,
        ):
            # an application may well run with `-W always`
            warnings.simplefilter("always")
            yield
    finally:
        sys.unraisablehook, threading.excepthook = hooks
        logging.root.removeHandler(handler)
        logging.root.setLevel(level)
    seen["warnings"] = sorted(
        [each.category.__name__, same(str(each.message)), each.category is not RuntimeWarning and _place(each.filename)]
        for each in caught or ()
        # when and where a garbage collector finds what was not closed is its own affair
        if each.category is not ResourceWarning
    )
    seen["logs"], seen["strays"], seen["output"] = records, strays, [same(each.getvalue()) for each in output]


class _Handler(logging.Handler):
    def __init__(self, records: list[Any]) -> None:
        super().__init__()
        self._records = records

    def emit(self, record: logging.LogRecord) -> None:
        # the agent has a logger of its own, which an application may silence
        if record.name.partition(".")[0] != "swagent":
            kept = record.name, record.levelname, record.getMessage(), record.funcName, _place(record.pathname)
            self._records.append([same(str(each)) for each in kept])


def _place(path: str) -> str:
    """A file, without its folders: a package's path begins where packages are."""
    if "/swagent/" in path and "/tests/" not in path:
        return "swagent" + path.rpartition("/swagent")[2]
    return path.partition("site-packages/")[2] or path.rpartition("/")[2]


def _left(now: Callable[[], list[str]], before: list[str]) -> list[str]:
    left = now()
    for each in before:
        if each in left:
            left.remove(each)
    return left


def _threads() -> list[str]:
    return [each.name for each in threading.enumerate() if not each.name.startswith("swagent")]


def _descriptors(variables: dict[str, str]) -> list[str]:
    """Open descriptors by what they lead to. The agent's own way to its collector comes and goes as it likes."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            target = os.readlink(f"/proc/self/fd/{name}")
            kind = target.partition(":")[0] if ":[" in target else target
            if kind != "socket" or not _leads_to_collector(int(name), variables):
                found.append(kind)
    return [each for each in found if not each.startswith("/proc/")]


def _leads_to_collector(descriptor: int, variables: dict[str, str]) -> bool:
    import socket

    with contextlib.suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as copy:
        peer = copy.getpeername()
        return isinstance(peer, tuple) and f"{peer[0]}:{peer[1]}" == variables.get("COLLECTOR")
    return False
