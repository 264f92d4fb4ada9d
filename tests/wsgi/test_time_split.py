"""Where the time of a request went that a thread serves: by the thread's processor time, which is made up here."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from asgi.calling import tags
from swagent import local_span
from swagent.acceleration import native
from swagent.record.trace import tracer as tracers
from swagent.record.trace.context import current
from swagent.request.split_times import SplitTimes
from swagent.wsgi import thread_clock
from swagent.wsgi.response import App, StartResponse
from swagent.wsgi.scope import Environ
from wsgi.calling import answers, ask, environ_of, returning, traced

pytestmark = pytest.mark.anyio


class Machine:
    """Its time passes only where it says so."""

    def __init__(self) -> None:
        # about the time of the pipeline, which drops what is too old
        self.now = time.monotonic()
        self._spent: dict[int, float] = {}

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return time.time()

    def thread_time(self) -> float:
        return self._spent.get(threading.get_ident(), 0.0)

    def work(self, milliseconds: float) -> None:
        self._spent[threading.get_ident()] = self.thread_time() + milliseconds / 1000
        self.wait(milliseconds)

    def wait(self, milliseconds: float) -> None:
        self.now += milliseconds / 1000

    def forget(self) -> None:
        self._spent.clear()


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    made = Machine()
    monkeypatch.setattr(thread_clock, "thread_time", made.thread_time)
    for module in ("state", "pending"):
        monkeypatch.setattr(f"swagent.request.{module}.monotonic", made.monotonic)
    monkeypatch.setattr("swagent.request.span.time", made)
    if native is not None:
        native.set_clock(made.monotonic)
    yield made
    if native is not None:
        native.set_clock(None)


def split(span: Any) -> dict[str, str]:
    return {key: value for key, value in tags(span).items() if key.startswith("time.")}


def doing(*steps: Callable[[], object]) -> App:
    def app(environ: Environ, start_response: StartResponse) -> list[bytes]:
        for step in steps:
            step()
        start_response("200 OK", [])
        return [b"done"]

    return app


def working(machine: Machine) -> App:
    return doing(lambda: machine.work(30), lambda: machine.wait(50), lambda: machine.work(12))


async def split_of(app: App) -> dict[str, str]:
    """Where the time of one request of its went; its span is the last."""
    async with traced(app, time_split_every=1) as shop:
        ask(shop.app, environ_of())
        [segment] = await shop.segments()
    return split(segment.spans[-1])


async def test_work_is_running_and_the_rest_is_awaiting(machine: Machine) -> None:
    assert await split_of(working(machine)) == {"time.running": "42", "time.awaiting": "50"}


async def test_a_request_with_a_span_is_split_alike(machine: Machine) -> None:
    def app(environ: Environ, start_response: StartResponse) -> list[bytes]:
        with local_span("inside"):
            machine.work(3)
        machine.wait(4)
        raise LookupError("nothing there")

    async with traced(app, time_split_every=1) as shop:
        with pytest.raises(LookupError):
            ask(shop.app, environ_of())
        [segment] = await shop.segments()
    assert split(segment.spans[-1]) == {"time.running": "3", "time.awaiting": "4"}


def pieces(machine: Machine) -> App:
    def made() -> Iterator[bytes]:
        for _ in range(3):
            machine.work(10)
            machine.wait(5)
            yield b"piece"

    return returning(made)


async def test_between_two_pieces_the_thread_works_for_others(machine: Machine) -> None:
    async with traced(pieces(machine), time_split_every=1) as shop:
        assert ask(shop.app, environ_of(), each=lambda: machine.work(100)).body == 3 * b"piece"
        assert split(await shop.span()) == {"time.running": "30", "time.awaiting": "315"}


async def test_each_piece_may_be_made_in_a_thread_of_its_own(machine: Machine) -> None:
    async with traced(pieces(machine), time_split_every=1) as shop:
        body: Any = iter(shop.app(environ_of(), lambda *_: bytes))
        for expected in (b"piece", b"piece", b"piece", None):
            with ThreadPoolExecutor(1) as threads:
                assert threads.submit(next, body, None).result() == expected
        body.close()
        assert split(await shop.span()) == {"time.running": "30", "time.awaiting": "15"}


async def test_a_body_that_is_closed_by_another_thread_is_split(machine: Machine) -> None:
    async with traced(pieces(machine), time_split_every=1) as shop:
        body: Any = iter(shop.app(environ_of(), lambda *_: bytes))
        next(body)
        with ThreadPoolExecutor(1) as threads:
            threads.submit(body.close).result()
        assert split(await shop.span()) == {"time.running": "10", "time.awaiting": "5"}


async def test_a_request_that_ends_by_another_thread_within_a_step_has_no_split(machine: Machine) -> None:
    def stop() -> None:
        with local_span("inside"):
            machine.work(3)
        with ThreadPoolExecutor(1) as threads:
            # as when the agent stops
            tracer: Any = tracers.running()
            threads.submit(tracer.finish_open_segments).result()

    assert await split_of(doing(stop)) == {}


async def test_a_request_in_a_greenlet_has_no_split(machine: Machine) -> None:
    greenlet = pytest.importorskip("greenlet")
    async with traced(working(machine), time_split_every=1) as shop:
        ask(shop.app, environ_of("/thread"))
        greenlet.greenlet(ask).switch(shop.app, environ_of("/greenlet"))
        of_thread, of_greenlet = [split(segment.spans[0]) for segment in await shop.segments()]
    assert of_thread == {"time.running": "42", "time.awaiting": "50"}
    assert of_greenlet == {}


async def test_a_system_without_the_time_of_threads(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_clock, "thread_time", None)
    assert await split_of(working(machine)) == {}


async def test_an_error_of_the_clock_costs_no_request(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> float:
        raise OSError("no clock")

    monkeypatch.setattr(thread_clock, "thread_time", broken)
    async with traced(working(machine), time_split_every=1) as shop:
        assert ask(shop.app, environ_of()).body == b"done"
        assert split(await shop.span()) == {}
        assert shop.app.faults.count == 1


@pytest.mark.parametrize(("every", "expected"), [(0, "...."), (1, "xxxx"), (3, "x..x")])
async def test_of_so_many_requests_one_is_split(every: int, expected: str) -> None:
    async with traced(answers("200 OK", b"a"), time_split_every=every) as shop:
        for _ in range(4):
            ask(shop.app, environ_of())
        found = [split(segment.spans[0]) for segment in await shop.segments()]
    assert "".join("x" if "time.running" in each else "." for each in found) == expected


async def test_a_forked_child_does_not_know_its_parents_time(machine: Machine) -> None:
    machine.work(50)
    assert await split_of(doing(machine.forget, lambda: machine.wait(20))) == {}


async def test_a_thread_runs_no_longer_than_the_request(machine: Machine) -> None:
    app = doing(lambda: machine.work(20), lambda: machine.wait(-5))
    assert await split_of(app) == {"time.running": "15", "time.awaiting": "0"}


async def test_a_second_stop_changes_nothing(machine: Machine) -> None:
    stopped: list[SplitTimes | None] = []

    def stop() -> None:
        clock: Any = current.get().clock  # type: ignore[union-attr]  # pyright: ignore[reportOptionalMemberAccess]
        stopped.append(clock.stop(machine.monotonic()))
        machine.work(5)

    app = doing(lambda: machine.work(20), stop, stop)
    assert await split_of(app) == {"time.running": "20", "time.awaiting": "0"}
    assert stopped == 2 * [SplitTimes(20, None, 0, None, "")]


async def test_the_systems_own_time_of_threads_is_used() -> None:
    assert thread_clock.thread_time is time.thread_time
    assert (await split_of(answers("200 OK", b"a"))).keys() == {"time.running", "time.awaiting"}
