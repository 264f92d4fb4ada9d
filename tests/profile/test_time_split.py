"""The split of a request's time is recorded, on every loop.

The tests measure by the same clock from inside of each state, so they know the least that a state has lasted, however
busy the machine is. All three together are no more than what the request took from outside: so each has a most as well.
"""

from __future__ import annotations

import asyncio
import functools
import gc
import json
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
import sniffio

from asgi.calling import answers, call, http_scope, tags, traced, websocket_scope
from swagent import exit_span, local_span
from swagent.acceleration import native
from swagent.asgi.lifespan import Receive, Scope, Send
from swagent.profile import light_clock, wait_names
from swagent.profile.light_clock import LightClock
from swagent.runtime import recording

from .profiled import ON_ASYNCIO, answer, handling

pytestmark = pytest.mark.anyio

STATES = ("time.running", "time.ready", "time.awaiting")
ROUNDING = 0.001
DEADLINE = 20.0


def work(seconds: float) -> float:
    """Run for so long; how long it was."""
    began = time.monotonic()
    while time.monotonic() < began + seconds:
        pass
    return time.monotonic() - began


def split(span: Any) -> tuple[float, float, float]:
    """Seconds of running, ready, awaiting."""
    found = tags(span)
    return float(found[STATES[0]]) / 1000, float(found[STATES[1]]) / 1000, float(found[STATES[2]]) / 1000


class Timeline:
    """A request that works, awaits, is ready and works again, and another task that holds the loop meanwhile."""

    def __init__(self, working: float, waiting: float, holding: float) -> None:
        self.working, self.waiting, self.holding = working, waiting, holding
        self.least = [0.0, 0.0, 0.0]
        self.most = 0.0

    async def run(self, shop: Any, path: str = "/") -> None:
        self.asleep, self.woken = anyio.Event(), anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(self._hold)
            began = time.monotonic()
            await call(shop.app, http_scope(path))
            self.most = time.monotonic() - began

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.least[0] += work(self.working / 2)
        self.asleep.set()
        await self.woken.wait()
        self.least[0] += work(self.working / 2)
        await answer(send)

    async def _hold(self) -> None:
        await self.asleep.wait()
        began = time.monotonic()
        await anyio.sleep(self.waiting)
        self.least[2] += time.monotonic() - began
        self.woken.set()
        self.least[1] += work(self.holding)

    def check(self, span: Any) -> None:
        times = split(span)
        for seen, least in zip(times, self.least, strict=True):
            assert seen >= least - ROUNDING
        assert sum(times) <= self.most + 2 * ROUNDING


async def test_running_ready_and_awaiting_are_recorded() -> None:
    timeline = Timeline(0.03, 0.05, 0.04)
    async with traced(timeline.app, time_split_every=1) as shop:
        await timeline.run(shop)
        timeline.check(await shop.span())


@pytest.mark.slow
async def test_a_known_mix_is_measured_within_a_tenth() -> None:
    """Each state as long as it was by the test's own clock. A busy machine takes the processor away between the states,
    too: that time may be any state's."""
    timeline = Timeline(working=0.05, waiting=0.2, holding=0.1)
    async with traced(timeline.app, time_split_every=1) as shop:
        await timeline.run(shop)
        span = await shop.span()
    timeline.check(span)
    between = timeline.most - sum(timeline.least)
    for seen, least in zip(split(span), timeline.least, strict=True):
        assert seen <= 1.1 * least + between


async def in_anyios_group(*children: Callable[[], Any]) -> None:
    async with anyio.create_task_group() as group:
        for each in children:
            group.start_soon(each)


async def in_group(*children: Callable[[], Any]) -> None:
    async with asyncio.TaskGroup() as group:
        for each in children:
            group.create_task(each())


async def gather(*children: Callable[[], Any]) -> None:
    await asyncio.gather(*(each() for each in children))


async def eagerly(*children: Callable[[], Any]) -> None:
    loop, factory = asyncio.get_running_loop(), vars(asyncio)["eager_task_factory"]
    await asyncio.gather(*(factory(loop, each()) for each in children))


@pytest.mark.parametrize(
    ("begin", "since"), [(in_anyios_group, (3, 10)), (gather, (3, 10)), (in_group, (3, 11)), (eagerly, (3, 12))]
)
async def test_child_tasks_are_part_of_their_request(begin: Any, since: tuple[int, int]) -> None:
    if begin is not in_anyios_group and (sniffio.current_async_library() == "trio" or sys.version_info < since):
        pytest.skip("there is no such way")
    least: list[float] = []

    async def child() -> None:
        least.append(work(0.01))
        await anyio.sleep(0.01)
        least.append(work(0.01))

    async with traced(handling(lambda: begin(child, child)), time_split_every=1) as shop:
        began = time.monotonic()
        await call(shop.app, http_scope())
        most = time.monotonic() - began
        running, ready, awaiting = split(await shop.span())
    assert running >= sum(least) - ROUNDING
    assert running + ready + awaiting <= most + 2 * ROUNDING


async def _sleep(seconds: float) -> None:
    await anyio.sleep(seconds)


async def _be_cancelled(seconds: float) -> None:
    with anyio.move_on_after(seconds):
        await anyio.sleep(DEADLINE)


@pytest.mark.parametrize("wait", [_sleep, _be_cancelled])
async def test_a_timer_that_the_loop_is_late_to_see_was_due(wait: Any) -> None:
    asleep = anyio.Event()
    resumed: list[float] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        asleep.set()
        await wait(0.02)
        resumed.append(time.monotonic())
        await answer(send)

    async def hold() -> float:
        await asleep.wait()
        due = time.monotonic() + 0.02  # or sooner
        work(0.06)
        return due

    async with traced(app, time_split_every=1) as shop, anyio.create_task_group() as group:
        group.start_soon(call, shop.app, http_scope())
        due = await hold()
        while not (segments := await shop.segments()):  # noqa: ASYNC110  (they come by the agent's loop)
            await anyio.sleep(0.001)
    running, ready, _ = split(segments[0].spans[0])
    # the machine may take the processor away before the application looks at its clock: it runs then
    assert ready + running >= resumed[0] - due - 2 * ROUNDING


async def test_the_result_of_a_thread_was_there_when_it_called() -> None:
    if sniffio.current_async_library() == "trio":
        pytest.skip("trio's way in from threads does not say")
    asleep = anyio.Event()
    may_answer = threading.Event()
    answered: list[float] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        asleep.set()
        await asyncio.get_running_loop().run_in_executor(None, may_answer.wait)
        await answer(send)

    async with traced(app, time_split_every=1) as shop, anyio.create_task_group() as group:
        group.start_soon(call, shop.app, http_scope())
        await asleep.wait()
        loop: Any = asyncio.get_running_loop()
        call_in = loop.call_soon_threadsafe

        def note(*args: Any, **options: Any) -> Any:
            handle = call_in(*args, **options)
            answered.append(time.monotonic())
            return handle

        loop.call_soon_threadsafe = note
        may_answer.set()
        until = time.monotonic() + DEADLINE
        while not answered and time.monotonic() < until:
            work(0.001)
            time.sleep(0)  # noqa: ASYNC251  (the thread's turn)
        work(0.03)
        least = time.monotonic() - answered[0]
        loop.call_soon_threadsafe = call_in
        while not (segments := await shop.segments()):  # noqa: ASYNC110  (they come by the agent's loop)
            await anyio.sleep(0.001)
    assert split(segments[0].spans[0])[1] >= least - ROUNDING


async def test_two_requests_at_a_time_are_kept_apart() -> None:
    first, second = Timeline(0.02, 0.01, 0.0), Timeline(0.06, 0.01, 0.0)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await (first if scope["path"] == "/1" else second).app(scope, receive, send)

    async with traced(app, time_split_every=1) as shop:
        async with anyio.create_task_group() as group:
            group.start_soon(first.run, shop, "/1")
            group.start_soon(second.run, shop, "/2")
        found = {each.spans[0].operation: each.spans[0] for each in await shop.segments()}
    first.check(found["GET:/1"])
    second.check(found["GET:/2"])


async def test_collecting_garbage_is_recorded() -> None:
    if not hasattr(gc, "callbacks"):
        pytest.skip("this interpreter does not say")
    least = 0.0
    began = 0.0

    def note(phase: str, _: object) -> None:
        nonlocal least, began
        now = time.thread_time()  # the machine may take the processor away between the agent's look and this one
        if phase == "start":
            began = now
        else:
            least += now - began

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        gc.callbacks.append(note)
        kept: list[list[int]] = [[] for _ in range(100_000)]
        while least < 0.04:
            gc.collect()
        gc.callbacks.remove(note)
        del kept
        await answer(send)

    async with traced(app, time_split_every=1) as shop:
        await call(shop.app, http_scope())
        span = await shop.span()
    collecting = float(tags(span)["time.gc"]) / 1000
    assert 0.01 < collecting <= split(span)[0] + ROUNDING


async def _marks_of_the_loop() -> Any:
    if sniffio.current_async_library() == "trio":
        import trio

        runner = trio._core._run.GLOBAL_RUN_CONTEXT.runner
        return dict(runner.instruments)
    return [name for name in vars(asyncio.get_running_loop()) if name.startswith("call_") or "swagent" in name]


@pytest.mark.parametrize("every", [1, 2])
async def test_nothing_of_ours_stays_on_the_loop(every: int) -> None:
    """While the time of each request is split, until the agent stops; else while such a request lives."""
    at_work: list[Any] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await anyio.lowlevel.checkpoint()
        at_work.append(await _marks_of_the_loop())
        if scope["path"] == "/fails":
            raise ValueError("fails")
        if scope["path"] == "/cut-off":
            cut_off.cancel()
            await anyio.sleep(DEADLINE)
        await answer(send)

    cut_off = anyio.CancelScope()
    before = await _marks_of_the_loop(), len(getattr(gc, "callbacks", ()))
    async with traced(app, time_split_every=every, loop_block_limit=0, pvm_meter_reporter_active=False) as shop:
        for path in ("/", "/not-split")[:every]:
            await call(shop.app, http_scope(path))
        with pytest.raises(ValueError, match="fails"):
            await call(shop.app, http_scope("/fails"))
        if every > 1:
            await call(shop.app, http_scope("/not-split"))
        with cut_off:
            await call(shop.app, http_scope("/cut-off"))
        marks = await _marks_of_the_loop()
        if isinstance(marks, list):
            marks.remove("_swagent_steps")
        assert ((marks, len(getattr(gc, "callbacks", ()))) == before) == (every > 1)
        spans = [segment.spans[0] for segment in await shop.segments()]
        spans = [span for span in spans if span.operation != "GET:/not-split"]
    assert (await _marks_of_the_loop(), len(getattr(gc, "callbacks", ()))) == before
    assert len(at_work) == 1 + 2 * every
    assert before[0] not in (at_work if every == 1 else at_work[0::2])
    assert [name for span in spans for name in STATES if name not in tags(span)] == []
    assert shop.app.faults.count == 0


async def test_off_leaves_the_loop_as_it_is_and_every_other_is_every_other() -> None:
    marks = await _marks_of_the_loop()
    plain = answers()
    async with traced(plain, time_split_every=0) as shop:
        await call(shop.app, http_scope())
        assert await _marks_of_the_loop() == marks
        assert not [name for name in tags(await shop.span()) if name.startswith("time.")]
    async with traced(plain, time_split_every=2) as shop:
        for _ in range(4):
            await call(shop.app, http_scope())
        seen = ["time.running" in tags(segment.spans[0]) for segment in await shop.segments()]
    assert seen == [True, False, True, False]


async def test_only_requests_are_timed_and_none_twice() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
            return
        if scope["path"] == "/outer":
            await call(shop.app, http_scope("/inner"))
        await answer(send)

    async with traced(app, time_split_every=1) as shop:
        await call(shop.app, websocket_scope("/socket"))
        await call(shop.app, http_scope("/outer"))
        await call(shop.app, http_scope("/next"))
        spans = {span.operation: tags(span) for segment in await shop.segments() for span in segment.spans}
    timed = {name for name, found in spans.items() if "time.running" in found}
    assert timed == {"GET:/outer", "GET:/next"}
    assert len(spans) == 4


async def test_a_span_that_is_cancelled_in_the_requests_own_task_names_no_task() -> None:
    """While an exception is thrown in, the interpreter's stack ends at what drives the application."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        with local_span("wait"):
            asleep.set()
            await anyio.sleep(DEADLINE)

    asleep = anyio.Event()
    async with traced(app, time_split_every=1) as shop:
        async with anyio.create_task_group() as group:
            group.start_soon(call, shop.app, http_scope())
            await asleep.wait()
            group.cancel_scope.cancel()
        [segment] = await shop.segments()
    assert [tags(span) for span in segment.spans if span.operation == "wait"] == [{"outcome": "cancelled"}]


async def test_a_loop_that_cannot_be_seen_into_costs_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> Any:
        raise AttributeError("compiled")

    monkeypatch.setattr(recording, "steps_here", refuse)
    async with traced(answers(), time_split_every=1) as shop:
        said = await call(shop.app, http_scope())
        span = await shop.span()
    assert [message["type"] for message in said] == ["http.response.start", "http.response.body"]
    assert "time.running" not in tags(span)
    assert shop.app.faults.count == 1


@ON_ASYNCIO
async def test_a_method_that_was_set_on_the_loop_stays() -> None:
    loop: Any = asyncio.get_running_loop()
    calls: list[Any] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        inner = loop.call_soon

        @functools.wraps(inner)
        def theirs(callback: Any, *args: Any, **options: Any) -> Any:
            calls.append(callback)
            return inner(callback, *args, **options)

        loop.call_soon = theirs
        await answer(send)

    async with traced(app, time_split_every=1) as shop:
        await call(shop.app, http_scope())
        del calls[:]
        await asyncio.sleep(0)
        assert calls
        del loop.call_soon


def test_the_clock_counts_each_instant_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(light_clock, "monotonic", lambda: now)
    clock = LightClock(object(), now)  # within a step
    now = 1.0
    clock.begin()  # an inner one: a step in a step
    clock.wake()  # another task of it, which is ready while this one runs
    now = 3.0
    clock.end()
    clock.end()
    now = 6.0
    clock.begin_woken()
    now = 10.0
    clock.end()
    now = 20.0
    clock.wake(since=18.0)
    now = 25.0
    clock.begin_woken()
    clock.end()
    now = 30.0
    clock.wake(since=1.0)  # before it began to await
    times = clock.stop(now)
    assert clock.steps is None
    assert times[:3] == (7000, 15000, 8000)
    clock.begin_woken()
    assert clock.stop(99.0) == times


def test_a_clock_of_one_step_has_run_all_the_time() -> None:
    clock = LightClock(object(), 5.0)
    times = clock.stop(5.25)
    assert times[:3] == (250, 0, 0)
    assert not clock.is_open
    assert clock.stop(9.0) is times


def test_the_names_of_waits_are_asked_for_the_long_ones_only() -> None:
    asked: list[float] = []

    class Asked(LightClock):
        __slots__ = ()

        def note_wait(self, seconds: float) -> None:
            asked.append(seconds)

        def settle(self) -> str:
            return "[]"

    now = time.monotonic()
    clock = Asked(object(), now)
    clock.end()
    clock._count(now + 2.0)
    clock._count(now + 2.0005)
    assert clock.stop(now + 3.0).awaited == "[]"
    assert len(asked) == 2


async def _tags_of(work: Callable[[], Awaitable[object]]) -> dict[str, str]:
    async with traced(handling(work), time_split_every=1, task_tree_every=0) as shop:
        await call(shop.app, http_scope())
        [segment] = await shop.segments()
    return next(tags(span) for span in segment.spans if span.operation == "GET:/")


async def _waits_of(work: Callable[[], Awaitable[object]]) -> dict[str, int]:
    """Milliseconds that a request awaited, by the names; they are all that it awaited."""
    found = await _tags_of(work)
    waits: dict[str, int] = dict(json.loads(found["time.awaited"]))
    assert sum(waits.values()) == pytest.approx(int(found["time.awaiting"]), abs=2)
    return waits


async def test_a_long_wait_has_the_name_of_its_place_and_the_place_is_looked_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[Any] = []
    look = wait_names._name_of

    def noted(links: Any) -> str:
        looks.append(links)
        return look(links)

    async def wait() -> None:
        await anyio.sleep(0.02)
        await anyio.sleep(0.02)

    monkeypatch.setattr(wait_names, "_names", {})
    monkeypatch.setattr(wait_names, "_name_of", noted)
    if native is not None:
        native.forget_places()
    for _ in range(2):
        names = [name for name in await _waits_of(wait) if name != "other"]
        assert names == ["trio.sleep" if sniffio.current_async_library() == "trio" else "asyncio.sleep"]
    assert len(looks) == 1


async def test_an_open_call_names_the_wait_of_a_request_without_a_span_as_well() -> None:
    async def wait() -> None:
        with exit_span("redis/GET", "cache:6379"):
            await anyio.sleep(0.02)
        await anyio.sleep(0.02)

    assert set(await _waits_of(wait)) - {"other"} == {
        "redis/GET cache:6379", "trio.sleep" if sniffio.current_async_library() == "trio" else "asyncio.sleep"
    }  # fmt: skip
