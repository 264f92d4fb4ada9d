"""The tasks that hold the event loop are recorded by name, and so are those that wait for it; on every loop.

The handlers that block do so until the watchdog has seen them, and for no fixed time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from sniffio import current_async_library

from asgi.calling import answers, call, http_scope, tags, traced
from swagent import current_span, exit_span, system_thread
from swagent.asgi.lifespan import Receive, Scope, Send
from swagent.backend import LoopNotifier, loop_notifier
from swagent.collector.store.trace_records import Span
from swagent.inspection import loop_view as loop_view_module
from swagent.profile import blocks as blocks_module
from swagent.profile.blocked_loop import Block
from swagent.profile.blocks import Blocks
from swagent.profile.loop_watch import LoopWatch
from swagent.record import events as recorded
from swagent.signals import Signal
from swagent_proto.messages import Event, MeterDataCollection

from .profiled import answer, handling

pytestmark = pytest.mark.anyio

LIMIT = 300
"""Milliseconds, of which a busy machine seldom takes so many from a loop."""
DEADLINE = 20.0


def block_until_released(seconds: float = 0.0) -> None:
    """Hold the loop until the active span says so, and so many milliseconds of it."""
    span = current_span()
    assert span is not None
    until = time.monotonic() + DEADLINE
    while float(dict(span.tags).get("loop.blocked", -1)) < seconds and time.monotonic() < until:
        time.sleep(0.005)


async def _by_operation(shop: Any) -> dict[str, Span]:
    return {span.operation: span for segment in await shop.segments() for span in segment.spans}


async def _spans_of(work: Callable[[], Awaitable[object]]) -> dict[str, Span]:
    """The spans of a request that does this, by their names."""
    async with traced(handling(work), loop_block_limit=LIMIT) as shop:
        await call(shop.app, http_scope("/"))
        return await _by_operation(shop)


async def test_a_task_that_blocks_is_recorded_with_its_stack_and_one_that_waits_with_its_time() -> None:
    woken = anyio.Event()
    at_work = [anyio.Event(), anyio.Event()]

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        if path == "/block":
            woken.set()
            block_until_released(2 * LIMIT)
        elif path == "/ready":
            at_work[0].set()
            await woken.wait()
        elif path == "/due":
            at_work[1].set()
            await anyio.sleep(LIMIT / 2000)
        elif path == "/idle":
            await anyio.sleep(DEADLINE)
        await answer(send)

    async with traced(app, loop_block_limit=LIMIT) as shop, anyio.create_task_group() as group:
        for path in ("/idle", "/ready"):
            group.start_soon(call, shop.app, http_scope(path))
        await at_work[0].wait()
        group.start_soon(call, shop.app, http_scope("/due"))
        await at_work[1].wait()
        await call(shop.app, http_scope("/block"))
        # those that had to wait end by themselves
        with anyio.fail_after(DEADLINE):
            while len(await shop.segments()) < 3:  # noqa: ASYNC110  (they come by the agent's loop)
                await anyio.sleep(0.01)
        group.cancel_scope.cancel()
    found = await _by_operation(shop)
    blocked = tags(found["GET:/block"])
    assert float(blocked["loop.blocked"]) >= 2 * LIMIT
    assert "loop.waited" not in blocked
    [log] = found["GET:/block"].logs
    said = dict(log.data)
    assert said["event"] == "loop.blocked"
    assert said["frame"].endswith(" block_until_released")
    assert "in block_until_released" in said["stack"].splitlines()[-1]
    for waited in ("GET:/ready", "GET:/due"):
        assert float(tags(found[waited])["loop.waited"]) >= LIMIT
        assert "loop.blocked" not in tags(found[waited])
    assert "loop.waited" not in tags(found["GET:/idle"]), "it waited for something else"


async def test_a_waiting_request_is_seen_where_the_answer_comes_in_the_turn_that_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The loop was asked just before: so it answers before it looks at its sockets and timers."""
    asked = threading.Event()
    at_work = anyio.Event()

    def noted_notifier() -> LoopNotifier:
        notify = loop_notifier()

        def noted(function: Callable[[], object]) -> None:
            notify(function)
            asked.set()

        return noted

    monkeypatch.setattr(loop_view_module, "loop_notifier", noted_notifier)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/block":
            block_until_released(2 * LIMIT)
        else:
            asked.clear()
            at_work.set()
            # this turn lasts until then, and who blocks comes first in the next one
            assert asked.wait(DEADLINE)
            await anyio.sleep(LIMIT / 2000)
        await answer(send)

    async with traced(app, loop_block_limit=LIMIT) as shop:
        async with anyio.create_task_group() as group:
            group.start_soon(call, shop.app, http_scope("/due"))
            await at_work.wait()
            await call(shop.app, http_scope("/block"))
        found = await _by_operation(shop)
    assert float(tags(found["GET:/due"])["loop.waited"]) >= LIMIT


async def _until_it_waited() -> None:
    """Go on until the active span has the time for which it waited."""
    with anyio.fail_after(DEADLINE):
        while (span := current_span()) is None or "loop.waited" not in dict(span.tags):  # noqa: ASYNC110
            await anyio.sleep(0.005)


async def _with_a_newcomer(shop: Any, held: anyio.Event) -> dict[str, Span]:
    """The spans of `/block`, and of `/new`, which comes in while that holds the loop.

    :param held: set by `/block`
    """

    async def come_in() -> None:
        await held.wait()
        await call(shop.app, http_scope("/new"))

    async with anyio.create_task_group() as group:
        group.start_soon(come_in)
        await anyio.wait_all_tasks_blocked()
        await call(shop.app, http_scope("/block"))
    return await _by_operation(shop)


async def test_a_request_that_came_in_meanwhile_waited_too() -> None:
    held = anyio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/block":
            held.set()
            block_until_released(2 * LIMIT)
        else:
            await _until_it_waited()
        await answer(send)

    async with traced(app, loop_block_limit=LIMIT) as shop:
        found = await _with_a_newcomer(shop, held)
    assert float(tags(found["GET:/new"])["loop.waited"]) >= LIMIT


async def test_a_request_that_is_seen_in_its_first_step_after_the_hold_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop may wake it before it comes to the answer; the watchdog looks once more in that moment."""
    if current_async_library() == "trio":
        pytest.skip("its answer comes first")
    held, looked = anyio.Event(), threading.Event()
    look, asking = LoopWatch._look, threading.Lock()

    def held_up_notifier() -> LoopNotifier:
        notify = loop_notifier()

        def in_order(function: Callable[[], object]) -> None:
            with asking:
                notify(function)

        return in_order

    def noted(watch: LoopWatch, holds: Any, running: Any, seconds: float) -> None:
        look(watch, holds, running, seconds)
        if len(holds) > 1:
            looked.set()

    monkeypatch.setattr(loop_view_module, "loop_notifier", held_up_notifier)
    monkeypatch.setattr(LoopWatch, "_look", noted)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/block":
            held.set()
            # the newcomer is woken first: the watchdog asks behind it
            asking.release()
            block_until_released(2 * LIMIT)
        else:
            assert looked.wait(DEADLINE)
            await _until_it_waited()
        await answer(send)

    async with traced(app, loop_block_limit=LIMIT) as shop:
        asking.acquire()
        found = await _with_a_newcomer(shop, held)
    assert float(tags(found["GET:/new"])["loop.waited"]) >= LIMIT
    assert "loop.waited" not in tags(found["GET:/block"])


async def test_the_span_that_is_active_is_the_one_that_blocks() -> None:
    async def work() -> None:
        with exit_span("slow driver", "db:5432"):
            block_until_released()

    found = await _spans_of(work)
    assert "loop.blocked" in tags(found["slow driver"])
    assert "loop.blocked" not in tags(found["GET:/"])


@pytest.mark.parametrize("use_uvloop", [False, True])
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_loop_of_the_programs_own_is_watched(backend: str, use_uvloop: bool) -> None:
    """trio waits in another place here than below a test, where it is a guest of another loop."""
    if use_uvloop and (backend == "trio" or find_spec("uvloop") is None):
        pytest.skip("no such loop")

    async def work() -> None:
        await anyio.sleep(0.05)
        block_until_released()

    options = {"use_uvloop": use_uvloop} if backend == "asyncio" else {}
    found = anyio.run(_spans_of, work, backend=backend, backend_options=options)
    assert "loop.blocked" in tags(found["GET:/"])


async def test_the_instance_reports_it_by_an_event_and_a_meter(monkeypatch: pytest.MonkeyPatch) -> None:
    # or one that a busy machine held up would be reported, and this one ten seconds later
    monkeypatch.setattr(blocks_module, "_EVENT_EVERY", 0.0)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        block_until_released()
        await answer(send)

    config = {"event_reporter_active": True, "meter_reporter_active": True, "pvm_meter_reporter_active": False}
    async with traced(app, loop_block_limit=LIMIT, **config) as shop:
        await call(shop.app, http_scope("/"))
        with anyio.fail_after(DEADLINE):
            while not (events := _events(shop, "block_until_released")):
                await shop.agent.flush()
    [event] = events
    assert float(event.parameters["duration"]) >= LIMIT
    reports = [MeterDataCollection().parse(each) for each in shop.collector.records[Signal.METER]]
    meters = [each.single_value for report in reports for each in report.meter_data if each.is_set("single_value")]
    labels = [label for each in meters if each.name == "loop_blocked" for [label] in [each.labels]]
    assert ("frame", "block_until_released") in {(label.name, _function(label.value)) for label in labels}


def _events(shop: Any, function: str) -> list[Event]:
    events = [Event().parse(each) for each in shop.collector.records[Signal.EVENT]]
    blocked = [each for each in events if each.name == "loop_blocked"]
    return [each for each in blocked if _function(each.parameters["frame"]) == function]


def _function(frame: str) -> str:
    return frame.rpartition(" ")[2]


async def test_no_thread_is_left_and_none_is_begun_where_it_is_off() -> None:
    async with traced(answers(), loop_block_limit=LIMIT):
        assert _watchers() == 1
    assert _watchers() == 0
    async with traced(answers(), loop_block_limit=0):
        assert _watchers() == 0


def _watchers() -> int:
    return sum(each.name == "swagent-loop-watch" for each in system_thread.alive())


@pytest.mark.one_loop
async def test_events_are_few_and_the_meters_places_are_bounded() -> None:
    events: list[recorded.Event] = []
    now = 0.0
    blocks = Blocks(events.append, clock=lambda: now)
    for number in range(30):
        blocks.note(Block(1000.0, 0.2, f"app.py:{number} handle"))
    assert [event.parameters["count"] for event in events] == ["1"]
    now = 10.0
    blocks.note(Block(1000.0, 0.2, "app.py:1 handle"))
    assert [event.parameters["count"] for event in events] == ["1", "30"]
    samples = {dict(sample.labels)["frame"]: getattr(sample, "value", None) for sample in blocks.collect()}
    assert len(samples) == 21
    assert samples["app.py:1 handle"] == pytest.approx(400)
    assert samples["other"] == pytest.approx(2000)


@pytest.mark.one_loop
async def test_a_loop_that_is_not_run_is_not_held(anyio_backend_name: str) -> None:
    blocks: list[Block] = []
    asked = threading.Event()

    class Closed:
        thread = 0

        def notify(self, function: Callable[[], object]) -> None:
            raise AssertionError("nothing is asked")

        def is_run(self) -> bool:
            asked.set()
            return False

    view: Any = Closed()
    watch = LoopWatch(view, 0.01, blocks.append)
    for _ in range(3):
        asked.clear()
        assert asked.wait(DEADLINE)
    watch.stop()
    assert not blocks
