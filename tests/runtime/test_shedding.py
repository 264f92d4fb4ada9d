"""A channel that is nearly full keeps room for what matters, and the ledger says what was dropped for that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import pytest

from asgi.calling import SW8, answers, call, http_scope
from faults.covering import covers
from runtime.worlds import agent_of, outcome, unreachable
from swagent import Agent, Config, local_span
from swagent.agent_log import RateLimitedLog
from swagent.asgi import SkyWalkingMiddleware
from swagent.collector.store.trace_translation import decode_segment
from swagent.pipeline.channel import Channel
from swagent.pipeline.intake import SegmentIntake
from swagent.pipeline.relief import Relief
from swagent.pipeline.shedding import Outline
from swagent.record.meters.samples import SingleSample
from swagent.request.finished import FIELDS, SEGMENT
from swagent.runtime.recording import Recording
from swagent.signals import Signal, bounds_of
from swagent.testing import MemoryCollector

pytestmark = [pytest.mark.anyio, covers("D06")]
ROOM = 3584
NEARLY_FULL = ROOM * 3 // 4


def fail(count: int) -> None:
    for _ in range(count):
        with suppress(ZeroDivisionError), local_span("failing"):
            raise ZeroDivisionError


def work(count: int) -> None:
    for _ in range(count):
        with local_span("work"):
            pass


def recording_of(agent: Agent) -> Recording:
    recording = agent._recording
    assert recording is not None
    return recording


def shed(agent: Agent) -> dict[str, float]:
    relief = recording_of(agent)._segments.relief
    assert relief is not None
    samples = [sample for sample in relief.shedding.collect() if isinstance(sample, SingleSample)]
    return {dict(sample.labels)["endpoint"]: sample.value for sample in samples}


def away(**changes: Any) -> tuple[MemoryCollector, Agent]:
    collector = MemoryCollector()
    collector.behaviour = unreachable
    return collector, agent_of(collector, trace_max_buffer_size=ROOM, shutdown_timeout=0.0, **changes)


class _Ordinary:
    """All segments are alike."""

    def read(self, finished: Sequence[Any]) -> Outline:
        return Outline("GET:/items", finished[SEGMENT][0].encode(), 0.01, False)


class _NoRequests:
    """There are segments only."""

    def encode_alike(self, row: Sequence[Any], epoch: float) -> Sequence[bytes | None]:
        del epoch
        return [None] * (len(row) // FIELDS)

    def encode(self, finished: Sequence[Any], epoch: float) -> bytes | None:
        raise NotImplementedError


FULL = {"queued": ROOM, "refused full": 5000 - ROOM}


@pytest.mark.parametrize(
    ("act", "count", "is_on", "found"),
    [(work, NEARLY_FULL, True, {"queued": NEARLY_FULL}), (fail, 5000, True, FULL), (work, 5000, False, FULL)],
    ids=["below three quarters", "more errors than there is room", "switched off"],
)
async def test_nothing_is_shed(act: Callable[[int], None], count: int, is_on: bool, found: dict[str, int]) -> None:
    _, agent = away(trace_shedding=is_on)
    async with agent:
        act(count)
        assert outcome(agent) == found


@pytest.mark.gate
async def test_errors_have_the_rest_of_the_room() -> None:
    collector, agent = away()
    async with agent:
        work(9000)
        fail(40)
        found = outcome(agent)
        assert found.keys() == {"queued", "refused shed"}
        assert NEARLY_FULL < found["queued"] < ROOM
        assert shed(agent) == {"work": found["refused shed"]}
        collector.behaviour = None
        assert await agent.flush(5)
    names = Counter(decode_segment(each).spans[0].operation for each in collector.records[Signal.SEGMENT])
    assert names["failing"] == 40


@pytest.mark.gate
async def test_requests_are_dropped_as_segments_are() -> None:
    collector, agent = away(loop_block_limit=0, time_split_every=0)
    async with agent:
        good, bad = SkyWalkingMiddleware(answers(), agent=agent), SkyWalkingMiddleware(answers(500), agent=agent)
        for _ in range(3500):
            await call(good, http_scope("/items"))
        for _ in range(20):
            await call(bad, http_scope("/items", [(b"sw8", SW8)]))
        found = outcome(agent)
        assert found.keys() == {"queued", "refused shed"}
        assert shed(agent) == {"GET:/items": found["refused shed"]}
        collector.behaviour = None
        assert await agent.flush(5)
    spans = [decode_segment(each).spans[0] for each in collector.records[Signal.SEGMENT]]
    assert sum(span.is_error for span in spans) == 20


async def test_what_was_dropped_is_reported_with_the_meters_and_by_a_closed_agent() -> None:
    collector, agent = away(meter_reporter_active=True)
    async with agent:
        work(6000)
        recording_of(agent).meter_report.report_now()
        collector.behaviour = None
        assert await agent.flush(5)
    assert any(b"swagent_segments_shed" in report for report in collector.records[Signal.METER])
    before = outcome(agent)
    work(10)
    assert outcome(agent)["refused shed"] == before["refused shed"] > 0


async def test_a_name_that_cannot_be_hashed_reaches_no_application_and_is_counted() -> None:
    _, agent = away()
    odd: Any = ["x"]
    async with agent:
        work(NEARLY_FULL)
        with local_span("odd") as span:
            span.name = odd
        work(3000)
        found = outcome(agent)
    assert sum(found.values()) == NEARLY_FULL + 3001
    assert found["refused encode_error"] == 1


@pytest.mark.gate
async def test_after_a_long_outage_the_newest_are_there_to_be_delivered() -> None:
    # what waits for longer than a minute is not sent: the room is for what came in the last one
    now = [1000.0]
    bounds = bounds_of(Signal.SEGMENT, Config(service="shop"))._replace(max_items=ROOM)
    channel = Channel(Signal.SEGMENT, bounds, lambda: now[0])
    relief = Relief(channel, _Ordinary())
    intake = SegmentIntake(channel, lambda _: b"x", _NoRequests(), RateLimitedLog(), relief, None)
    for number in range(100 * 300):
        intake.offer((f"{number:032x}", None))
        now[0] += 0.01
    delivered = 0
    while (lease := channel.lease(bounds.batch_items, bounds.batch_bytes)).records:
        delivered += len(lease.records)
        lease.confirm()
    assert delivered > NEARLY_FULL
