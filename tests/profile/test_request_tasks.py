"""The waits of a request, and the tree of its tasks, on every loop."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import sys
import time
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import pytest
import sniffio

from asgi.calling import DISCONNECT, REQUEST, Traced, call, http_scope, tags, traced
from swagent import exit_span, local_span
from swagent.asgi.lifespan import App, Receive, Scope, Send
from swagent.collector.store.trace_records import Span
from swagent.profile import asyncio_tasks, awaited, trio_tasks
from swagent.profile.awaited import MAX_NAME, AwaitedTimes
from swagent.profile.request_tasks import MAX_TASKS, RequestTasks
from swagent.profile.task_groups import NO_GROUP
from swagent.profile.task_record import deadline_text, duration, kind_of
from swagent.profile.timed_steps import TimedSteps, steps_here
from swagent.record.limits import MAX_VALUE
from swagent.record.limits import short as short_text
from swagent.record.trace.outcome import running_task

from .profiled import ON_ASYNCIO, answer, handling

pytestmark = pytest.mark.anyio

Work = Callable[[], Awaitable[object]]
IS_OLD = sys.version_info < (3, 11)


def on_trio() -> bool:
    return sniffio.current_async_library() == "trio"


async def stuck() -> None:
    await anyio.sleep_forever()


async def fails() -> None:
    await anyio.wait_all_tasks_blocked()
    raise ValueError("it failed")


class Peer:
    """Answers whoever asks, one after the other, 30 ms after it was asked.

    It is to run outside of the request, and comes to run when the request awaits: so the request awaits for as long at
    least, however late the machine lets each of them go on.
    """

    def __init__(self) -> None:
        self._asked, self._answered = anyio.Event(), anyio.Event()

    async def ask(self) -> None:
        self._answered = anyio.Event()
        self._asked.set()
        await self._answered.wait()

    async def answer(self) -> None:
        while True:
            await self._asked.wait()
            self._asked = anyio.Event()
            await anyio.sleep(0.03)
            self._answered.set()


async def entry_of(shop: Traced) -> Span:
    [span] = [span for segment in await shop.segments() for span in segment.spans if span.operation == "GET:/"]
    return span


async def tags_of(app: App, **settings: Any) -> dict[str, str]:
    """The tags of a request, whose time is split and whose tasks are listed."""
    async with traced(app, **{"time_split_every": 1, "task_tree_every": 1, **settings}) as shop:
        await call(shop.app, http_scope())
        assert shop.app.faults.count == 0
        return tags(await entry_of(shop))


async def tasks_of(work: Work) -> list[dict[str, Any]]:
    """The tasks of a request that does this."""
    found = json.loads((await tags_of(handling(work))).get("tasks", "[]"))
    assert [each["id"] for each in found] == [*range(1, len(found) + 1)]
    for each in found:
        assert 0 <= each["begin"] <= each.get("end", each["begin"])
    return list(found)


def short(seen: list[dict[str, Any]], *keys: str) -> list[tuple[Any, ...]]:
    return [tuple(each.get(key) for key in keys) for each in seen]


@asynccontextmanager
async def native_group() -> AsyncGenerator[tuple[str, Callable[..., object]]]:
    """A group of the loop's own; its name, and what begins a task in it."""
    if on_trio():
        import trio

        async with trio.open_nursery() as nursery:
            yield "trio.Nursery", lambda work, name: nursery.start_soon(work, name=name)
    elif IS_OLD:
        pytest.skip("asyncio has no groups here")
    else:
        async with asyncio.TaskGroup() as group:
            yield "asyncio.TaskGroup", lambda work, name: group.create_task(work(), name=name)


@asynccontextmanager
async def anyio_group() -> AsyncGenerator[tuple[str, Callable[..., object]]]:
    async with anyio.create_task_group() as group:
        yield "anyio.TaskGroup", lambda work, name: group.start_soon(work, name=name)


GROUPS = pytest.mark.parametrize("group", [native_group, anyio_group])


@GROUPS
async def test_a_group_shows_the_task_that_failed_and_those_that_it_took_along(group: Any) -> None:
    label = ""

    async def work() -> None:
        nonlocal label
        with contextlib.suppress(Exception):
            async with group() as (label, begin):
                begin(anyio.lowlevel.checkpoint, "quick")
                begin(stuck, "stuck")
                begin(fails, "fails")

    seen = await tasks_of(work)
    assert short(seen, "parent", "name", "group", "outcome", "cause") == [
        (0, "quick", label, "done", None),
        (0, "stuck", label, "cancelled", "task 3 failed: ValueError"),
        (0, "fails", label, "failed", "ValueError"),
    ]


@GROUPS
async def test_the_body_of_a_group_fails_and_groups_have_numbers(group: Any) -> None:
    async def inner() -> None:
        async with group() as (_, begin):
            begin(stuck, "grandchild")

    async def work() -> None:
        for _ in range(2):
            with contextlib.suppress(Exception):
                async with group() as (_, begin):
                    begin(inner, "child")
                    await anyio.wait_all_tasks_blocked()
                    raise KeyError("secret")

    seen = await tasks_of(work)
    assert short(seen, "parent", "name", "outcome") == [
        (0, "child", "cancelled"), (1, "grandchild", "cancelled"),
        (0, "child", "cancelled"), (3, "grandchild", "cancelled"),
    ]  # fmt: skip
    assert {each["cause"] for each in seen if each["parent"] == 0} == {"the body of its group failed: KeyError"}
    assert len({each["group"] for each in seen}) == 4
    assert "secret" not in json.dumps(seen)


@GROUPS
async def test_a_deadline_is_the_cause_of_all_that_it_cancels(group: Any) -> None:
    async def work() -> None:
        with anyio.move_on_after(0.4):
            async with group() as (_, begin):
                begin(stuck, "first")
                begin(stuck, "second")

    seen = await tasks_of(work)
    assert short(seen, "name", "outcome") == [("first", "cancelled"), ("second", "cancelled")]
    for each in seen:
        assert each["cause"].startswith("deadline")
        if not on_trio():  # there a slow step leaves open how long it was
            assert each["cause"].startswith("deadline of ")


@ON_ASYNCIO
async def test_asyncios_own_timeouts_are_causes() -> None:
    async def work() -> None:
        with contextlib.suppress(asyncio.TimeoutError):
            task = asyncio.create_task(stuck())
            await asyncio.sleep(0)  # or the timer may be due before its first step
            await asyncio.wait_for(task, 0.05)
        if not IS_OLD:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.4), asyncio.TaskGroup() as group:
                    group.create_task(stuck())

    seen = await tasks_of(work)
    assert len(seen) == (1 if IS_OLD else 2)
    assert all(each["cause"].startswith("deadline of ") for each in seen)


async def test_a_cancel_is_recorded_with_the_task_that_called_it() -> None:
    scope = anyio.CancelScope()
    ready = anyio.Event()

    async def canceller() -> None:
        await anyio.wait_all_tasks_blocked()
        scope.cancel()

    async def work() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(stuck)
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
        async with anyio.create_task_group() as group:
            group.start_soon(canceller)
            with scope:
                async with anyio.create_task_group() as inner:
                    inner.start_soon(stuck)
        with anyio.CancelScope() as from_outside:
            scopes.append(from_outside)
            async with anyio.create_task_group() as group:
                group.start_soon(stuck)
                ready.set()

    async def outsider() -> None:
        await ready.wait()
        await anyio.wait_all_tasks_blocked()
        scopes[0].cancel()

    scopes: list[anyio.CancelScope] = []
    async with traced(handling(work), time_split_every=1, task_tree_every=1) as shop:
        async with anyio.create_task_group() as group:
            group.start_soon(outsider)
            await call(shop.app, http_scope())
        seen = json.loads(tags(await entry_of(shop))["tasks"])
    assert short(seen, "outcome", "cause") == [
        ("cancelled", "cancel() by the request's own task"),
        ("done", None),
        ("cancelled", "cancel() by task 2"),
        ("cancelled", "cancel() from outside of the request"),
    ]


async def test_a_request_that_knows_that_the_client_went_away_says_so() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(stuck)
            await anyio.wait_all_tasks_blocked()
            while (await receive())["type"] != "http.disconnect":
                pass
            group.cancel_scope.cancel()
        await answer(send)

    async with traced(app, time_split_every=1, task_tree_every=1) as shop:
        await call(shop.app, http_scope(), REQUEST, DISCONNECT)
        [seen] = json.loads(tags(await entry_of(shop))["tasks"])
    assert seen["cause"] == "cancel() by the request's own task, the client had gone"


@ON_ASYNCIO
async def test_tasks_of_asyncio_name_the_function_that_began_them() -> None:
    async def work() -> None:
        await asyncio.gather(anyio.lowlevel.checkpoint(), anyio.lowlevel.checkpoint())
        await asyncio.create_task(anyio.lowlevel.checkpoint(), name="plain")
        task = asyncio.Task(anyio.lowlevel.checkpoint(), name="direct")
        await task

    seen = await tasks_of(work)
    assert short(seen, "group", "outcome") == [
        ("asyncio.gather", "done"), ("asyncio.gather", "done"),
        ("asyncio.create_task", "done"), ("asyncio.create_task", "done"),
    ]  # fmt: skip
    assert short(seen, "name")[2:] == [("plain",), ("direct",)]


async def test_a_scope_that_tries_once_more_has_the_cause_that_it_had() -> None:
    """The first time its task is ready for a step, and cannot be cancelled; anyio tries again later."""
    scope = anyio.CancelScope()

    async def child() -> None:
        with scope:
            async with anyio.create_task_group() as inner:
                inner.start_soon(stuck)
                inner.start_soon(canceller)
                with anyio.CancelScope(shield=True):
                    await anyio.sleep(0.02)
                await anyio.sleep_forever()

    async def canceller() -> None:
        await anyio.wait_all_tasks_blocked()
        scope.cancel()

    async def work() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(child)

    seen = await tasks_of(work)
    assert short(seen, "parent", "outcome", "cause") == [
        (0, "done", None), (1, "cancelled", "cancel() by task 3"), (1, "done", None),
    ]  # fmt: skip


@ON_ASYNCIO
async def test_who_cancelled_a_task_of_asyncio() -> None:
    async def work() -> None:
        timed = asyncio.create_task(stuck(), name="timed")
        inner = asyncio.create_task(stuck(), name="inner")
        outer = asyncio.create_task(asyncio.wait_for(inner, None), name="outer")
        await anyio.wait_all_tasks_blocked()
        inner.cancel()
        asyncio.get_running_loop().call_later(0.01, timed.cancel)
        await asyncio.wait({outer, timed})

    assert short(await tasks_of(work), "name", "cause") == [
        ("timed", "cancel() by a callback of the loop"),
        ("inner", "cancel() by the request's own task"),
        ("outer", "task 2 was cancelled"),
    ]


@ON_ASYNCIO
@pytest.mark.skipif(sys.version_info < (3, 12), reason="has no eager tasks")
async def test_eager_tasks_are_in_the_tree() -> None:
    loop = asyncio.get_running_loop()
    if (3, 13) <= sys.version_info < (3, 13, 3) and not isinstance(loop, asyncio.BaseEventLoop):
        pytest.skip("uvloop and these releases do not agree on eager tasks")

    async def at_once() -> None:
        pass

    async def nested() -> None:
        await asyncio.gather(at_once(), anyio.lowlevel.checkpoint())
        raise ValueError

    async def work() -> None:
        loop.set_task_factory(vars(asyncio)["eager_task_factory"])
        try:
            await asyncio.gather(nested(), at_once(), return_exceptions=True)
        finally:
            loop.set_task_factory(None)

    seen = await tasks_of(work)
    # in which order they begin differs: on Python 3.14 uvloop begins none of them at once
    assert sorted(short(seen, "parent", "group", "outcome")) == [
        (0, "asyncio.gather", "done"), (0, "asyncio.gather", "failed"),
        (1, "asyncio.gather", "done"), (1, "asyncio.gather", "done"),
    ]  # fmt: skip


async def test_a_task_that_outlives_its_request_has_no_end() -> None:
    released = anyio.Event()
    spans: list[Any] = []

    async def lasting() -> None:
        with local_span("lasting") as span:
            spans.append(span)
            await released.wait()

    async with anyio.create_task_group() as group:

        async def work() -> None:
            group.start_soon(lasting, name="lasting")
            await anyio.wait_all_tasks_blocked()

        async with traced(handling(work), time_split_every=1, task_tree_every=1) as shop:
            # as under a server: the task that opened the group serves no request
            async with anyio.create_task_group() as server:
                server.start_soon(call, shop.app, http_scope())
            assert not spans[0].ended
            released.set()
            while not spans[0].ended:
                await anyio.lowlevel.checkpoint()
            by_name = {span.operation: tags(span) for each in await shop.segments() for span in each.spans}
    assert by_name["lasting"] == {"task": "lasting"}
    [seen] = json.loads(by_name["GET:/"]["tasks"])
    assert seen["name"] == "lasting"
    assert not {"end", "outcome", "cause"} & set(seen)


@GROUPS
async def test_a_task_that_the_request_waits_for_still_is_running(group: Any) -> None:
    released = anyio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        async with group() as (_, begin):
            begin(released.wait, "lasting")
            await answer(send)
            released.set()

    [seen] = json.loads((await tags_of(app))["tasks"])
    assert seen["outcome"] == "running"
    assert "end" not in seen


@pytest.mark.parametrize("every", [0, 1])
@GROUPS
async def test_spans_of_child_tasks_say_in_which_they_were_begun(group: Any, every: int) -> None:
    async def child() -> None:
        with local_span("whole"):
            pass
        with local_span("cut off"):
            await anyio.sleep_forever()

    async def work() -> None:
        with anyio.CancelScope() as scope:
            async with group() as (_, begin):
                begin(child, "fetcher")
                await anyio.wait_all_tasks_blocked()
                scope.cancel()
        with local_span("own"):
            pass

    async with traced(handling(work), time_split_every=every, task_tree_every=1) as shop:
        await call(shop.app, http_scope())
        by_name = {span.operation: tags(span) for each in await shop.segments() for span in each.spans}
    assert by_name["cut off"] == {"outcome": "cancelled", "task": "fetcher"}
    # to know it of spans that end well would cost each request a look at its task
    assert by_name["whole"] == ({"task": "fetcher"} if every else {})
    assert by_name["own"] == {}


async def test_of_many_tasks_the_first_ones_are_recorded_and_how_many_more_there_were() -> None:
    count = 2 * MAX_TASKS

    async def work() -> None:
        async with anyio.create_task_group() as group:
            for number in range(count):
                group.start_soon(anyio.lowlevel.checkpoint, name=f'task \\ "{number}" é')

    found = await tags_of(handling(work))
    seen = json.loads(found["tasks"])
    assert len(found["tasks"]) <= MAX_VALUE
    assert [each["id"] for each in seen] == [*range(1, len(seen) + 1)]
    assert 10 < len(seen) <= MAX_TASKS
    assert int(found["tasks.left_out"]) == count - len(seen)


async def test_no_task_no_tag() -> None:
    found = await tags_of(handling(anyio.lowlevel.checkpoint))
    assert not {"tasks", "tasks.left_out"} & set(found)


@ON_ASYNCIO
async def test_an_exception_that_was_not_looked_at_is_reported_as_before() -> None:
    reported: list[Any] = []
    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler()
    loop.set_exception_handler(lambda _, context: reported.append(context.get("exception")))

    async def work() -> None:
        async def fail() -> None:
            raise ValueError

        task = asyncio.create_task(fail())
        while not task.done():  # noqa: ASYNC110  (awaiting it would look at its exception)
            await asyncio.sleep(0)

    try:
        [seen] = await tasks_of(work)
        gc.collect()
    finally:
        loop.set_exception_handler(before)
    assert seen["outcome"] == "failed"
    assert [type(each) for each in reported] == [ValueError]


async def test_nothing_holds_the_tasks_of_a_request() -> None:
    tasks: list[weakref.ref[Any]] = []

    async def child() -> None:
        tasks.append(weakref.ref(running_task()))
        await anyio.lowlevel.checkpoint()

    async def work() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(child)

    async with traced(handling(work), time_split_every=1, task_tree_every=1) as shop:
        await call(shop.app, http_scope())
        await anyio.lowlevel.checkpoint()
        gc.collect()
        assert [each() for each in tasks] == [None]


async def test_a_loop_that_hides_its_tasks_costs_what_would_be_recorded_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: Any) -> Any:
        raise AttributeError("it is elsewhere now")

    for module in (asyncio_tasks, trio_tasks):
        monkeypatch.setattr(module, "outer_frame", refuse)
    monkeypatch.setattr(awaited, "links_of", refuse)
    done: list[str] = []
    peer = Peer()

    async def child() -> None:
        await peer.ask()
        done.append("child")

    async def work() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(child)

    async with (
        traced(handling(work), time_split_every=1, task_tree_every=1) as shop,
        anyio.create_task_group() as others,
    ):
        others.start_soon(peer.answer)
        await call(shop.app, http_scope())
        found = tags(await entry_of(shop))
        assert shop.app.faults.count == 0
        others.cancel_scope.cancel()
    assert done == ["child"]
    assert "tasks" not in found
    assert [name for name, _ in json.loads(found["time.awaited"])] == ["other"]


# -- what was awaited -------------------------------------------------------------------------------------------------


async def awaited_by(work: Work, *others: Callable[[], Coroutine[Any, Any, None]]) -> dict[str, int]:
    """The awaits of a request that does this work.

    :param others: the work done outside of it meanwhile
    """
    async with (
        traced(handling(work), time_split_every=1, task_tree_every=1) as shop,
        anyio.create_task_group() as group,
    ):
        for each in others:
            group.start_soon(each)
        await call(shop.app, http_scope())
        found = tags(await entry_of(shop))
        group.cancel_scope.cancel()
    seen = json.loads(found["time.awaited"])
    times = [ms for name, ms in seen if name != "other"]
    assert times == sorted(times, reverse=True)
    assert sum(ms for _, ms in seen) == pytest.approx(int(found["time.awaiting"]), abs=len(seen) + 1)
    return dict(seen)


async def test_an_awaited_object_has_a_name() -> None:
    peer = Peer()

    async def work() -> None:
        with exit_span("redis/GET", "cache:6379"):
            await peer.ask()
        # so long that a busy machine leaves some of it
        await anyio.sleep(0.3)
        await peer.ask()

    seen = await awaited_by(work, peer.answer)
    assert seen["redis/GET cache:6379"] >= 29
    assert ("trio.sleep" if on_trio() else "asyncio.sleep") in seen
    # until Python 3.11 a function does not know its class
    assert [name for name in seen if name.endswith("wait")], seen


@GROUPS
async def test_a_group_awaits_what_its_first_task_awaits(group: Any) -> None:
    peer = Peer()
    queried, released = anyio.Event(), anyio.Event()

    async def query() -> None:
        with exit_span("select", "db:5432"):
            await peer.ask()
        queried.set()

    async def fetch() -> None:
        with exit_span("GET", "shop:80"):
            await released.wait()

    async def release() -> None:
        """No task of the request, so however late it comes, the request awaits meanwhile."""
        await queried.wait()
        await anyio.sleep(0.03)
        released.set()

    async def work() -> None:
        async with group() as (_, begin):
            begin(query, "query")
            begin(fetch, "fetch")

    seen = await awaited_by(work, peer.answer, release)
    assert "select db:5432" in seen
    assert seen["GET shop:80"] >= 29


@ON_ASYNCIO
async def test_awaited_tasks_are_followed() -> None:
    peer = Peer()

    async def query(name: str) -> None:
        with exit_span("select", name):
            await peer.ask()

    async def work() -> None:
        await asyncio.create_task(query("awaited"))
        await asyncio.gather(query("gathered"))
        await asyncio.wait({asyncio.ensure_future(query("waited"))})
        await asyncio.wait_for(asyncio.ensure_future(query("in time")), 60)

    seen = await awaited_by(work, peer.answer)
    assert {"select awaited", "select gathered", "select waited", "select in time"} <= set(seen)


def test_eight_are_shown_and_the_rest_is_one() -> None:
    names = iter([short_text(f'call {number} "é" {"x" * 200}', MAX_NAME) for number in range(100)])
    times = AwaitedTimes()
    for number in range(8):
        times.add(1.0 + number, next(names))
    text = times.text(36.0004)
    assert [ms for _, ms in json.loads(text)] == [8000, 7000, 6000, 5000, 4000, 3000, 2000, 1000]
    for _ in range(80):
        times.add(0.5, next(names))
    text = times.text(76.25)
    shown = json.loads(text)
    assert len(text) <= MAX_VALUE
    assert [ms for _, ms in shown] == [8000, 7000, 6000, 5000, 4000, 3000, 2000, 41250]
    assert shown[-1][0] == "other"
    assert AwaitedTimes().text(0.0005) == ""


# -- texts ------------------------------------------------------------------------------------------------------------


@pytest.mark.one_loop
async def test_how_long_a_deadline_was() -> None:
    assert deadline_text(2) == "deadline of 2 s"
    assert deadline_text(1.99998) == "deadline of 2 s"
    assert deadline_text(0.05) == "deadline of 50 ms"
    assert deadline_text(3600.0) == "deadline of 3600 s"
    assert deadline_text(None) == deadline_text(-1.0) == "deadline"
    assert duration(0.0996, 2) == "100 ms"


@pytest.mark.one_loop
async def test_which_classes_a_group_of_exceptions_has() -> None:
    from swagent.record.trace.outcome import _Group

    assert kind_of(ValueError("secret")) == "ValueError"
    inner = _Group("inner", [KeyError(), ValueError()])
    assert kind_of(_Group("outer", [ValueError(), inner])) == "ExceptionGroup of ValueError, KeyError"


async def test_a_step_that_takes_no_time_leaves_no_doubt_of_a_deadline() -> None:
    """By trio's clock for tests, in which steps take none."""
    trio: Any = pytest.importorskip("trio")
    testing: Any = pytest.importorskip("trio.testing")
    if not on_trio():
        pytest.skip("trio's")

    async def handle() -> None:
        # the agent takes the request's begin from the real clock, in which the step does take some
        with trio.move_on_after(9000):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.sleep_forever)

    async def serve() -> list[dict[str, Any]]:
        tasks = RequestTasks(running_task())
        steps = TimedSteps(handle(), steps_here(), time.monotonic(), tasks, is_user=True)
        await steps
        steps.stop(time.monotonic())
        return list(json.loads(dict(steps.more_tags())["tasks"]))

    with anyio.CancelScope(shield=True):
        seen = await anyio.to_thread.run_sync(lambda: trio.run(serve, clock=testing.MockClock(autojump_threshold=0)))
    assert short(seen, "outcome", "cause") == [("cancelled", "deadline of 9000 s")]


@pytest.mark.one_loop
async def test_a_task_that_was_announced_and_did_not_come_is_forgotten() -> None:
    tasks = RequestTasks(running_task())
    record = tasks.announce(running_task(), NO_GROUP)
    assert record is not None
    tasks.arrive(record, None)
    assert tasks.tags() == ()
