"""The application holds its event loop for longer than any deadline of the agent, or gives it thousands of tasks: the
ledger stays true, nothing is doubted without a cause, and no transport dials again and again."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import pytest
import sniffio

from faults.covering import each_cell
from kit.client import until
from kit.sinks import Sink, sink_of
from runtime.worlds import SEGMENTS_ONLY, outcome, record
from swagent import Agent, Config, local_span

pytestmark = pytest.mark.anyio

# in which a collector in a thread of this process has to answer
TIMEOUT = 1.2
# Over HTTP, calls that are under way at the same time have a connection each: four batches and the heartbeat.
ALONGSIDE = 4


def agent_for(sink: Sink, *, clock: Callable[[], float] = time.monotonic, **settings: Any) -> Agent:
    settings = {**sink.settings, **SEGMENTS_ONLY, "request_timeout": TIMEOUT, **settings}
    return Agent(Config(service="shop", **settings), clock=clock)


@pytest.fixture
def sink(transport: str) -> Iterator[Sink]:
    with sink_of(transport) as sink:
        yield sink


@pytest.mark.slow
@each_cell("C04")
async def test_an_answer_that_waits_in_the_socket_of_a_blocked_loop_counts(transport: str, sink: Sink) -> None:
    arrived, answer = threading.Event(), threading.Event()

    def hold() -> None:
        arrived.set()
        answer.wait(5)

    async with agent_for(sink) as agent, anyio.create_task_group() as group:
        record()
        assert await agent.flush(5)
        connections = sink.connections
        sink.hold = hold
        record(5)
        group.start_soon(agent.flush)
        await until(arrived.is_set)
        answer.set()
        time.sleep(1.5 * TIMEOUT)  # noqa: ASYNC251  (the fault)
        assert await agent.flush(5)
        assert outcome(agent) == {"confirmed": 6}
        assert sink.connections == connections
    assert sink.ids.total() == len(sink.ids) == 6


@pytest.mark.slow
@each_cell("C04")
async def test_a_loop_that_is_held_again_and_again_makes_no_transport_dial_again(transport: str, sink: Sink) -> None:
    async with agent_for(sink, heartbeat_period=0.1) as agent:
        record()
        assert await agent.flush(5)
        connections = sink.connections
        for _ in range(2):
            record(5)
            time.sleep(1.2 * TIMEOUT)  # noqa: ASYNC251  (the fault)
            await anyio.sleep(0.02)
        assert await agent.flush(5)
        assert outcome(agent) == {"confirmed": 11}
        assert sink.connections <= connections + ALONGSIDE
    assert sink.ids.total() == len(sink.ids) == 11


@pytest.mark.slow
@each_cell("C04")
async def test_ten_thousand_tasks_and_eight_threads_record_at_once(transport: str, sink: Sink) -> None:
    async def serve() -> None:
        with local_span("task"):
            await anyio.lowlevel.checkpoint()

    if sniffio.current_async_library() == "asyncio":
        asyncio.get_running_loop().set_debug(False)  # it would note for each task where it was made
    # more than there is room for: a collector in this very process would be at it for many seconds
    async with agent_for(sink, trace_max_buffer_size=2_000, request_timeout=20.0, shutdown_timeout=20.0) as agent:
        threads = [threading.Thread(target=record, args=(250,)) for _ in range(8)]
        async with anyio.create_task_group() as group:
            for number in range(10_000):
                group.start_soon(serve)
                if number % 1_250 == 0:
                    threads[number // 1_250].start()
        for thread in threads:
            thread.join()
        assert agent.statistics().balanced
    segments = agent.statistics().segment
    assert segments.offered == 12_000
    assert outcome(agent) == {"confirmed": segments.accepted, "refused full": 12_000 - segments.accepted}
    assert sink.ids.total() == len(sink.ids) == segments.accepted >= 2_000
