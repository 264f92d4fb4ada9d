"""The thread in which asyncio-only transports run where the agent runs elsewhere."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import sys
import threading
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from contextvars import ContextVar
from typing import Any

import anyio
import anyio.to_thread
import psutil
import pytest

from kit.client import until
from kit.forks import FORKS, in_a_child
from kit.servers import Parrot
from kit.stopwatch import Stopwatch
from swagent import system_thread
from swagent.backend import loop_notifier
from swagent.errors import AmbiguousError, RetryableError
from swagent.record.suppression import suppress_instrumentation
from swagent.runtime import thread_loop, transport_thread
from swagent.runtime.transport_thread import THREAD_NAME, TransportThread, open_thread
from swagent.stop_budgets import CALL_END
from swagent.system_thread import SystemThread

pytestmark = pytest.mark.anyio

# The time that a machine that does other things, too, may add.
SLACK = 1.0
PATIENCE = 5.0
# The time that the host waits for the thread's end.
ENDING = transport_thread._ENDING
variable: ContextVar[str] = ContextVar("variable", default="the thread's own")


@pytest.fixture
def anyio_backend() -> Any:
    """Where an agent needs such a thread."""
    return "trio", {}


@pytest.fixture(params=["uvloop", "asyncio"], autouse=True)
def inner_loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop in the thread."""
    if request.param == "asyncio":
        monkeypatch.setitem(sys.modules, "uvloop", None)


@pytest.fixture(autouse=True)
def quietly(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Nothing reaches the interpreter's hooks or asyncio's logger, not even later."""
    heard: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", heard.append)
    monkeypatch.setattr(threading, "excepthook", heard.append)
    yield
    gc.collect()
    assert heard == []
    assert [each for each in caplog.records if each.name == "asyncio" and each.levelno > logging.DEBUG] == []


@pytest.fixture(autouse=True)
def waits_for_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine does not leave a thread behind that is about to end."""
    monkeypatch.setattr(transport_thread, "_ENDING", PATIENCE)


@pytest.fixture
def problems() -> list[Mapping[str, Any]]:
    return []


Open = Callable[..., AbstractAsyncContextManager[TransportThread]]


@pytest.fixture
def opened(problems: list[Mapping[str, Any]]) -> Open:
    """Makes a thread whose problems are noted."""
    return lambda **options: open_thread(loop_notifier(), CALL_END, problems.append, **options)


@pytest.fixture
async def thread(opened: Open, problems: list[Mapping[str, Any]]) -> AsyncIterator[TransportThread]:
    async with opened() as found:
        yield found
    assert problems == []


def threads() -> list[SystemThread]:
    return [each for each in system_thread.alive() if each.name == THREAD_NAME]


async def deaf(entered: threading.Event) -> None:
    """Swallows every cancellation."""
    entered.set()
    while True:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)


@asynccontextmanager
async def cancelled(thread: TransportThread, function: Callable[..., Any], *args: Any) -> AsyncIterator[None]:
    """A call that is under way in the block, and is cancelled at its end. It gets an event, to set when it begins."""
    entered = threading.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(thread.run, function, entered, *args)
        await wait_for(entered)
        yield
        group.cancel_scope.cancel()


async def wait_for(event: threading.Event) -> None:
    assert await anyio.to_thread.run_sync(event.wait, PATIENCE)


async def forever(entered: threading.Event) -> None:
    entered.set()
    await anyio.sleep_forever()


async def answer(text: str, seconds: float) -> str:
    await asyncio.sleep(seconds)
    return text


# -- outcomes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [None, AmbiguousError("no verdict"), asyncio.CancelledError(), SystemExit(3), KeyboardInterrupt()],
    ids=repr,
)
async def test_an_outcome_comes_back_as_it_is_and_the_thread_goes_on(
    thread: TransportThread, error: BaseException | None
) -> None:
    async def add(one: int, other: int) -> tuple[int, str]:
        await asyncio.sleep(0)
        if error is not None:
            raise error
        return one + other, threading.current_thread().name

    if error is None:
        assert await thread.run(add, 1, 2) == (3, THREAD_NAME)
    else:
        with pytest.raises(type(error)) as caught:
            await thread.run(add, 1, 2)
        assert caught.value is error
    assert await thread.run(answer, "well", 0) == "well"


async def test_an_error_that_was_raised_leaves_no_cycle(thread: TransportThread) -> None:
    class Marker:
        pass

    markers: list[Any] = []

    async def fail() -> None:
        marker = Marker()
        markers.append(weakref.ref(marker))
        raise RetryableError("not now")

    gc.collect()
    gc.disable()
    try:
        with suppress(RetryableError):
            await thread.run(fail)
        await until(lambda: markers[0]() is None, PATIENCE)
    finally:
        gc.enable()


# -- cancellation -----------------------------------------------------------------------------------------------------


async def test_a_cancellation_that_is_heard_is_waited_for(problems: list[Mapping[str, Any]]) -> None:
    ended = threading.Event()

    async def tidy(entered: threading.Event) -> None:
        entered.set()
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await asyncio.sleep(0.05)
            ended.set()

    async with open_thread(loop_notifier(), PATIENCE, problems.append) as thread:
        async with cancelled(thread, tidy):
            pass
        assert ended.is_set()
    assert problems == []


async def test_a_call_that_is_cancelled_at_once_has_not_begun(thread: TransportThread) -> None:
    ran: list[int] = []

    async def note() -> None:
        await anyio.lowlevel.checkpoint()
        ran.append(1)

    with anyio.CancelScope() as scope:
        scope.cancel()
        await thread.run(note)
    assert scope.cancelled_caught
    assert await thread.run(answer, "well", 0) == "well"
    assert ran == []


@pytest.mark.gate
@pytest.mark.parametrize("fails", [False, True])
async def test_the_outcome_of_what_was_left_behind_is_not_reported(
    thread: TransportThread, fails: bool, problems: list[Mapping[str, Any]]
) -> None:
    let_go, ended = asyncio.Event(), threading.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def late(entered: threading.Event) -> str:
        loops.append(asyncio.get_running_loop())
        entered.set()
        while not let_go.is_set():
            with suppress(asyncio.CancelledError):
                await let_go.wait()
        ended.set()
        if fails:
            raise AmbiguousError("too late")
        return "too late"

    async with cancelled(thread, late):
        pass
    assert not ended.is_set()
    loops[0].call_soon_threadsafe(let_go.set)
    await wait_for(ended)
    assert await thread.run(answer, "well", 0) == "well"
    gc.collect()
    await anyio.sleep(0.01)
    assert problems == []


# -- the end ----------------------------------------------------------------------------------------------------------


async def test_thread_and_descriptors_are_gone_after_the_block(opened: Open) -> None:
    process = psutil.Process()
    with Parrot() as peer:
        await anyio.to_thread.run_sync(int)  # what the host's loop keeps for itself is there
        before = process.num_fds()
        for _ in range(3):
            async with opened() as thread:
                await thread.run(asyncio.sleep, 0)
                assert len(threads()) == 1
                await thread.run(keep_connection, peer.port)
                assert process.num_fds() > before
            assert threads() == []
            # the peer closes after us
            await until(lambda: process.num_fds() <= before, PATIENCE)


kept: list[Any] = []


async def keep_connection(port: int) -> None:
    """Leave a connection open, as a library does that is not closed."""
    kept[:] = await asyncio.get_running_loop().create_connection(asyncio.Protocol, "127.0.0.1", port)


async def test_what_is_left_at_the_end_is_aborted_and_runs_through_its_finally(opened: Open) -> None:
    """The test does not see a ResourceWarning, which is an error in here."""
    closed: list[str] = []

    async def hang() -> None:
        try:
            await deaf(threading.Event())
        finally:
            closed.append(f"task in {threading.current_thread().name}")

    async def numbers() -> AsyncGenerator[int]:
        try:
            yield 1
        finally:
            await asyncio.sleep(0)
            closed.append(f"generator in {threading.current_thread().name}")

    async def begin(port: int) -> None:
        await keep_connection(port)
        kept.extend([asyncio.ensure_future(hang()), numbers()])
        await kept[-1].__anext__()

    with Parrot() as peer:
        async with opened() as thread:
            await thread.run(begin, peer.port)
            watch = Stopwatch()
        assert watch.own_seconds < SLACK
    assert kept[0].is_closing()
    assert sorted(closed) == [f"generator in {THREAD_NAME}", f"task in {THREAD_NAME}"]
    kept.clear()
    gc.collect()


async def test_a_call_that_the_end_cuts_off_is_ambiguous_and_one_after_it_has_not_begun(opened: Open) -> None:
    entered, errors = threading.Event(), list[BaseException]()

    async def wait() -> None:
        await forever(entered)

    async def call(thread: TransportThread) -> None:
        try:
            await thread.run(wait)
        except AmbiguousError as error:
            errors.append(error)

    async with anyio.create_task_group() as group, opened() as thread:
        group.start_soon(call, thread)
        await wait_for(entered)
    assert len(errors) == 1
    with pytest.raises(RetryableError):
        await thread.run(wait)


@pytest.mark.gate
async def test_only_a_blocking_call_stays_behind_and_ends_with_it(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport_thread, "_ENDING", ENDING)
    entered, let_go = threading.Event(), threading.Event()

    async def block() -> None:
        entered.set()
        let_go.wait(PATIENCE)

    async def call(thread: TransportThread) -> None:
        with suppress(AmbiguousError):
            await thread.run(block)

    async with opened() as thread:
        async with anyio.create_task_group() as group:
            group.start_soon(call, thread)
            await wait_for(entered)
            watch = Stopwatch()
            group.cancel_scope.cancel()
        assert watch.own_seconds < CALL_END + SLACK
        watch = Stopwatch()
    assert watch.own_seconds < ENDING + SLACK
    (left,) = threads()
    let_go.set()
    await anyio.to_thread.run_sync(left.join, PATIENCE)
    assert threads() == []


# -- problems ---------------------------------------------------------------------------------------------------------


async def test_an_exception_in_a_callback_is_reported_in_the_hosts_thread(opened: Open) -> None:
    recorded: list[tuple[int, object]] = []
    error = LookupError("in a callback")

    def fail() -> None:
        raise error

    async def begin() -> None:
        asyncio.get_running_loop().call_soon(fail)

    def note(problem: Mapping[str, Any]) -> None:
        recorded.append((threading.get_ident(), problem["exception"]))

    async with open_thread(loop_notifier(), CALL_END, note) as thread:
        await thread.run(begin)
        assert await thread.run(answer, "well", 0) == "well"
        await anyio.sleep(0.01)
    assert recorded == [(threading.get_ident(), error)]


async def test_a_callback_that_ends_the_process_ends_nothing(opened: Open, problems: list[Mapping[str, Any]]) -> None:
    async def begin() -> None:
        asyncio.get_running_loop().call_soon(sys.exit, 3)

    async with opened() as thread:
        await thread.run(begin)
        assert await thread.run(answer, "well", 0.01) == "well"
    assert [type(each["exception"]) for each in problems] == [SystemExit]


@pytest.mark.parametrize("lack", ["descriptor", "thread"])
async def test_a_shortage_of_the_system_is_waited_out(
    opened: Open, problems: list[Mapping[str, Any]], lack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport_thread, "_PERIOD", 0.01)
    start, make = SystemThread.start, thread_loop.new_loop
    left = [3]

    def lacking() -> bool:
        left[0] -= 1
        return left[0] >= 0

    def start_late(thread: SystemThread) -> None:
        if thread.name == THREAD_NAME and lacking():
            raise RuntimeError("can't start new thread")
        start(thread)

    def make_late() -> asyncio.AbstractEventLoop:
        if lacking():
            raise OSError(24, "Too many open files")
        return make()

    if lack == "thread":
        monkeypatch.setattr(SystemThread, "start", start_late)
    else:
        monkeypatch.setattr(thread_loop, "new_loop", make_late)
    async with opened() as thread:
        assert await thread.run(answer, "well", 0) == "well"
    assert len(problems) == 3
    left[0] = 1
    with pytest.raises((OSError, RuntimeError)):
        await open_thread(loop_notifier(), CALL_END).__aenter__()


# -- what it is -------------------------------------------------------------------------------------------------------


async def test_the_thread_has_a_name_and_hears_no_signals(thread: TransportThread) -> None:
    async def mask() -> set[Any]:
        return signal.pthread_sigmask(signal.SIG_BLOCK, [])

    blocked = await thread.run(mask)
    assert {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGALRM, signal.SIGCHLD} <= blocked
    assert signal.SIGSEGV not in blocked, "faulthandler has something to say of it"
    assert len(threads()) == 1
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


async def test_calls_run_in_a_context_of_the_threads_own(opened: Open) -> None:
    contexts: list[tuple[str, bool]] = []

    async def look() -> None:
        contexts.append((variable.get(), suppress_instrumentation.get()))
        variable.set("left by another call")
        later = asyncio.Event()
        asyncio.get_running_loop().call_soon(later.set)
        await later.wait()

    token = variable.set("the application's")
    async with opened(prepare=lambda: suppress_instrumentation.set(True)) as thread:
        await thread.run(look)
        await thread.run(look)
    variable.reset(token)
    assert contexts == [("the thread's own", True)] * 2
    assert not suppress_instrumentation.get()


# -- forks and endings ------------------------------------------------------------------------------------------------


class TestForks:
    pytestmark = FORKS

    async def test_a_child_waits_for_nothing_and_touches_nothing(self, opened: Open) -> None:
        def child() -> None:
            assert threads() == []
            # neither of them is ever suspended
            with pytest.raises(RetryableError):
                runner.run(forever, threading.Event()).send(None)
            with pytest.raises(StopIteration):
                runner.end().send(None)

        async with opened() as runner, cancelled(runner, forever):
            await anyio.to_thread.run_sync(in_a_child, child)
            assert await runner.run(answer, "unhurt", 0) == "unhurt"
