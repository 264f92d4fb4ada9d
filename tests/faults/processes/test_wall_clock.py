"""The wall clock is set by a day, either way, under a running agent: times are the wall clock's, what lasts is not."""

from __future__ import annotations

import time
from collections.abc import Iterator

import anyio
import pytest

from faults.covering import each_cell
from kit.sinks import Reports, Sink, sink_of
from swagent import Agent, Config, local_span

pytestmark = pytest.mark.anyio

DAY = 86_400.0
BEAT = 0.2


class _Hand:
    """Moves the wall clock of this process."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def turn(self, monkeypatch: pytest.MonkeyPatch) -> None:
        true, true_ns = time.time, time.time_ns
        monkeypatch.setattr(time, "time", lambda: true() + self.ahead)
        monkeypatch.setattr(time, "time_ns", lambda: true_ns() + int(self.ahead * 1e9))


@pytest.fixture
def hand(monkeypatch: pytest.MonkeyPatch) -> _Hand:
    hand = _Hand()
    hand.turn(monkeypatch)
    return hand


@pytest.fixture
def sink(transport: str) -> Iterator[Sink]:
    with sink_of(transport) as sink:
        yield sink


@each_cell("P07")
async def test_a_wall_clock_that_is_set_changes_times_and_nothing_else(transport: str, sink: Sink, hand: _Hand) -> None:
    config = Config.from_env(sink.environ, service="clocks", heartbeat_period=BEAT)
    reports = sink.of(config.service)
    began = time.monotonic()
    async with Agent(config) as agent:
        assert await sink.wait_for(lambda: bool(reports.beats), 30)
        for ahead in (DAY, -DAY, 0.0):
            with local_span(f"before {ahead:.0f}"):
                pass  # and it waits in its channel now
            with local_span(f"until {ahead:.0f}"):
                hand.ahead = ahead
                with local_span("inner"):
                    pass
            assert await agent.flush(5)
            await anyio.sleep(BEAT)
    lasted, now = time.monotonic() - began, time.time() - hand.ahead
    assert agent.statistics().complete, str(agent.statistics())
    assert await sink.wait_for(lambda: len(reports.segments) == 6, 30)
    assert len(reports.beats) <= lasted / BEAT + 2, "a storm of heartbeats"
    _check_times(reports, now, lasted)


def _check_times(reports: Reports, now: float, lasted: float) -> None:
    ahead = {"86400": 0.0, "-86400": DAY, "0": -DAY}
    for segment in reports.segments:
        root = next(span for span in segment.spans if span.parent_span_id == -1)
        assert abs(root.start_time / 1000 - now - ahead[root.operation.split()[1]]) < lasted + 1
        for span in segment.spans:
            assert root.start_time <= span.start_time <= span.end_time <= root.end_time
            assert span.end_time - span.start_time < lasted * 1000
