"""Agent after agent in one process, over every transport: the last one leaves the process as the first one found it."""

from __future__ import annotations

import gc
import logging
from collections import Counter

import pytest

from faults.covering import each_cell
from faults.network.lines import Line, record
from kit.client import open_files, wait_files_closed
from kit.thread_names import thread_names
from runtime.worlds import no_task_is_left
from swagent.record.trace import tracer as tracers

pytestmark = pytest.mark.anyio

# the thousand, over a collector in memory, are in tests/runtime/test_lifecycle.py
LIVES = 60
# the sinks live in this process, too, and keep what arrived
OURS = ("swagent.", "swagent_transports.", "grpclib.client", "httpcore", "httpx", "aiokafka.")
NOT_OURS = "swagent.collector."
# what is under way to its end in another thread
FEW = 10


async def live(line: Line, times: int) -> None:
    for _ in range(times):
        agent = line.agent(log_level="critical")  # pytest keeps every line, and what it speaks of
        async with agent:
            record()
            assert await agent.flush(5.0)
        assert agent.statistics().complete, str(agent.statistics())


def objects() -> Counter[str]:
    """How many objects there are of each class of ours, and of the clients that the transports use."""
    for _ in range(3):
        gc.collect()
    kinds = (f"{type(each).__module__}.{type(each).__qualname__}" for each in gc.get_objects())
    return Counter(kind for kind in kinds if kind.startswith(OURS) and not kind.startswith(NOT_OURS))


@pytest.mark.slow
@each_cell("P09")
@pytest.mark.timeout(120)
async def test_lives_leave_no_task_thread_descriptor_or_object(line: Line) -> None:
    await live(line, 10)  # imports, caches, threads that the client libraries keep
    await wait_files_closed(set())
    before = objects()
    files, threads = open_files(), {*thread_names()}
    callbacks, emit = list(gc.callbacks), logging.Logger.callHandlers
    with no_task_is_left():
        await live(line, LIVES)
    # sinks hold on to their own ends of connections, and to what arrived, until they have seen the end of it
    assert len(await wait_files_closed(files)) <= 2
    assert {*thread_names()} <= threads
    assert gc.callbacks == callbacks
    assert logging.Logger.callHandlers is emit
    assert tracers.running() is None
    line.notes.clear()
    grown = objects() - before
    assert grown.total() <= FEW, grown
