"""A profile task shows where the requests of its endpoint were, and which of them waited for what; on every loop.

What a request does lasts until the sampler has seen it, and for no fixed time.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
import sniffio

from asgi.calling import answers, call, http_scope
from swagent import exit_span, system_thread
from swagent.asgi.lifespan import App, Receive, Scope, Send
from swagent.wsgi import SkyWalkingMiddleware as WsgiMiddleware

from .profiled import DEADLINE, ON_ASYNCIO, Looks, answer, handling, profile_command, profiled

pytestmark = pytest.mark.anyio


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Looks:
    return Looks(monkeypatch)


@contextmanager
def unobserved() -> Iterator[None]:
    """The sampler gets no turn within: some loops name a task after it has come to be seen."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(DEADLINE)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


async def stacks_of(app: App, **config: Any) -> list[list[str]]:
    """The stacks of a request to an application."""
    async with profiled(app, profile_command(), **config) as shop:
        await shop.wait_watched()
        await call(shop.app, http_scope("/slow"))
        await shop.wait_finished()
    return [each.stack.code_signatures for each in shop.snapshots()]


async def test_a_request_runs_is_ready_and_waits(looks: Looks) -> None:
    held = anyio.Event()

    async def work() -> None:
        looks.hold("[running]", "work:")
        with exit_span("ask the stock", "stock:80"):
            await looks.wait("[awaiting ask the stock stock:80]", "work:")
        await looks.wait("sleep]")
        held.set()
        await anyio.lowlevel.checkpoint()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/slow":
            await work()
        else:
            await held.wait()
            looks.hold("[ready, loop busy]")
        await answer(send)

    async with profiled(app, profile_command()) as shop:
        await shop.wait_watched()
        async with anyio.create_task_group() as group:
            group.start_soon(call, shop.app, http_scope("/other"))
            await anyio.wait_all_tasks_blocked()
            group.start_soon(call, shop.app, http_scope("/slow"))
        await shop.wait_finished()
        [segment] = [each for each in await shop.segments() if each.spans[-1].operation == "GET:/slow"]
    snapshots = shop.snapshots()
    assert {each.trace_segment_id for each in snapshots} == {segment.segment_id}
    assert {each.task_id for each in snapshots} == {"task-1"}
    stacks = [each.stack.code_signatures for each in snapshots]
    assert all(stack[0] == "GET:/slow" for stack in stacks)
    at_work = [stack for stack in stacks if any("work:" in line for line in stack)]
    assert any(stack[-1] == "[running]" for stack in at_work)
    assert any(stack[-1] == "[awaiting ask the stock stock:80]" for stack in at_work)
    assert any(stack[-1] == "[ready, loop busy]" for stack in stacks)
    assert any(stack[-1].endswith("sleep]") for stack in stacks)
    assert shop.finished == ["task-1"]


async def test_the_numbers_leave_no_gap_and_one_snapshot_lists_the_segment(looks: Looks) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        since = len(looks.stacks)
        with anyio.fail_after(DEADLINE):
            while len(looks.stacks) < since + 8:  # noqa: ASYNC110  (what is looked at is this wait)
                await anyio.sleep(0.005)
        await answer(send)

    async with profiled(app, profile_command(MaxSamplingCount="2")) as shop:
        await shop.wait_watched()
        await call(shop.app, http_scope("/slow"))
        await call(shop.app, http_scope("/slow"))
        await shop.wait_finished()
        segments = {each.segment_id: each.spans[0].start_time for each in await shop.segments()}
    assert len(segments) == 2
    numbers: list[list[int]] = []
    for segment, began in segments.items():
        found = [each for each in shop.all_snapshots() if each.trace_segment_id == segment]
        [first, *others] = found
        # the OAP lists what has a number 0, and looks for others within the span's time
        assert first.sequence == 0
        assert first.time < began
        assert all(each.time >= began for each in others)
        assert all(right.sequence - left.sequence == 1 for left, right in pairwise(others))
        numbers.append([each.sequence for each in others])
    assert not {*numbers[0]} & {*numbers[1]}
    assert min(numbers[0]) // 100_000 != min(numbers[1]) // 100_000


async def test_the_tasks_of_a_request_show_under_their_names_and_are_numbered_apart(looks: Looks) -> None:
    async def wait_for(event: anyio.Event) -> None:
        await event.wait()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        done = anyio.Event()
        async with anyio.create_task_group() as group:
            with unobserved():
                for name in ("left", "right"):
                    group.start_soon(wait_for, done, name=name)
            with anyio.fail_after(DEADLINE):
                while looks.count("wait_for:") < 8:  # noqa: ASYNC110  (as above)
                    await anyio.sleep(0.005)
            done.set()
        await answer(send)

    async with profiled(app, profile_command()) as shop:
        await shop.wait_watched()
        await call(shop.app, http_scope("/slow"))
        await shop.wait_finished()
    by_task: dict[str, list[int]] = {}
    for each in shop.snapshots():
        by_task.setdefault(each.stack.code_signatures[0], []).append(each.sequence)
    assert by_task.keys() == {"GET:/slow", "GET:/slow / task left", "GET:/slow / task right"}
    assert all(right - left == 1 for numbers in by_task.values() for left, right in pairwise(numbers))
    assert len({number for numbers in by_task.values() for number in numbers}) == len(shop.snapshots())
    borders = sorted((min(numbers), max(numbers)) for numbers in by_task.values())
    assert all(right[0] - left[1] == 2 for left, right in pairwise(borders)), "one number apart"


@pytest.mark.parametrize("run", [anyio.to_thread.run_sync, asyncio.to_thread], ids=["anyio's", "asyncio's"])
async def test_the_threads_of_a_pool_belong_to_the_request(looks: Looks, run: Any) -> None:
    if run is asyncio.to_thread and sniffio.current_async_library() == "trio":
        pytest.skip("asyncio's")

    def compute() -> None:
        looks.hold("compute:")

    stacks = await stacks_of(handling(lambda: run(compute)))
    assert any(stack[0] == "GET:/slow / thread" and any("compute:" in line for line in stack) for stack in stacks)


@ON_ASYNCIO
async def test_sqlalchemys_greenlet_is_walked_through(looks: Looks) -> None:
    concurrency = pytest.importorskip("sqlalchemy.util.concurrency")
    pytest.importorskip("greenlet")

    async def ask_driver(text: str) -> None:
        await looks.wait(text, "[awaiting")

    def execute() -> None:
        concurrency.await_only(ask_driver("ask_driver:"))
        compute()

    def compute() -> None:
        looks.hold("compute:")

    stacks = await stacks_of(handling(lambda: concurrency.greenlet_spawn(execute)))
    all_awaiting = [stack for stack in stacks if stack[-1].startswith("[awaiting")]
    awaiting = next(stack for stack in all_awaiting if any("ask_driver:" in line for line in stack))
    order = [place for place, line in enumerate(awaiting) for name in ("greenlet_spawn:", "execute:", "ask_driver:")
             if name in line]  # fmt: skip
    assert len(order) == 3
    assert order == sorted(order)
    running = next(stack for stack in stacks if any("compute:" in line for line in stack))
    assert running[-1] == "[running]"
    assert any("execute:" in line for line in running)


@pytest.mark.one_loop
async def test_a_thread_that_serves_a_request_shows_its_frames(looks: Looks) -> None:
    def compute() -> None:
        looks.hold("compute:")

    def app(environ: Any, start_response: Any) -> list[bytes]:
        compute()
        start_response("200 OK", [])
        return [b""]

    async with profiled(answers(), profile_command()) as shop:
        await shop.wait_watched()
        served = WsgiMiddleware(app, agent=shop.agent)
        environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/slow", "wsgi.url_scheme": "http", "HTTP_HOST": "shop.test"}
        thread = threading.Thread(target=lambda: served(environ, lambda *_: lambda _: None))
        thread.start()
        await shop.wait_finished()
        thread.join()
    stacks = [each.stack.code_signatures for each in shop.snapshots()]
    assert stacks
    assert all(stack[0] == "GET:/slow" for stack in stacks)
    assert any("compute:" in line for stack in stacks for line in stack)


async def test_only_requests_of_the_endpoint_are_profiled_and_no_more_than_asked_for(looks: Looks) -> None:
    done = anyio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/other":
            await done.wait()
        elif scope["path"] == "/first":
            # the route that took it is known late
            scope["path_template"] = "/{name}"
            await looks.wait("[awaiting")
        else:
            scope["path_template"] = "/{name}"
        await answer(send)

    async with profiled(app, profile_command("GET:/{name}")) as shop:
        await shop.wait_watched()
        async with anyio.create_task_group() as group:
            group.start_soon(call, shop.app, http_scope("/other"))
            await call(shop.app, http_scope("/first"))
            await call(shop.app, http_scope("/second"))
            await shop.wait_finished()
            done.set()
        assert len({each.trace_segment_id for each in shop.snapshots()}) == 1
        assert {each.stack.code_signatures[0] for each in shop.snapshots()} == {"GET:/{name}"}
        assert shop.agent.tracer.request_watch is None
        assert shop.agent.tracer.decides_late
    assert not [each for each in system_thread.alive() if each.name == "swagent-profile"]


async def test_two_requests_at_a_time_are_kept_apart(looks: Looks) -> None:
    both = [anyio.Event(), anyio.Event()]

    async def left() -> None:
        await both[0].wait()

    async def right() -> None:
        await both[1].wait()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await (left() if scope["query_string"] else right())
        await answer(send)

    async with profiled(app, profile_command(MaxSamplingCount="2")) as shop:
        await shop.wait_watched()
        async with anyio.create_task_group() as group:
            group.start_soon(call, shop.app, http_scope("/slow", query_string=b"left"))
            group.start_soon(call, shop.app, http_scope("/slow"))
            await looks.wait(".left:")
            await looks.wait(".right:")
            for event in both:
                event.set()
        await shop.wait_finished()
    by_segment: dict[str, set[str]] = {}
    for each in shop.snapshots():
        names = {side for side in ("left", "right") for line in each.stack.code_signatures if f".{side}:" in line}
        by_segment.setdefault(each.trace_segment_id, set()).update(names)
    assert sorted(map(sorted, by_segment.values())) == [["left"], ["right"]]


async def test_generators_are_walked_through(looks: Looks) -> None:
    async def produce() -> Any:
        await looks.wait("produce:")
        yield 1

    async def consume() -> None:
        async for _ in produce():
            pass

    lines = {line.rpartition(":")[0] for stack in await stacks_of(handling(consume)) for line in stack}
    assert any("consume" in line for line in lines)
    assert any("produce" in line for line in lines)


async def test_a_stack_is_no_deeper_than_set(looks: Looks) -> None:
    async def down(depth: int) -> None:
        if depth:
            await down(depth - 1)
        else:
            await looks.wait("down:", "[awaiting")

    stacks = await stacks_of(handling(lambda: down(50)), profile_dump_max_stack_depth=10)
    # beside the frames, the operation and the state; a look may have come before the request was so deep
    assert max(map(len, stacks)) == 12


async def test_the_stacks_that_the_agent_has_when_it_stops_are_sent(looks: Looks) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await anyio.sleep(DEADLINE)

    async with profiled(app, profile_command()) as shop, anyio.create_task_group() as group:
        await shop.wait_watched()
        group.start_soon(call, shop.app, http_scope("/slow"))
        await looks.wait("[awaiting")
        await shop.agent.stop()
        group.cancel_scope.cancel()
    assert shop.snapshots()
    ledger = shop.agent.statistics().profile
    assert ledger.confirmed == ledger.offered == len(shop.all_snapshots())
