"""The rate at which ordinary segments are kept, in simulated services whose collector takes a fifth of what comes."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swagent.pipeline.keep_rate import NEARLY_FULL, KeepRate, place_of

ROOM, BATCH, GROUP = 10_000, 512, 64


@dataclass
class Service:
    """Offers groups of records, as the intake does, to a channel whose collector answers a batch at a time.

    :ivar takes: records a second that its collector takes
    """

    takes: float
    random: Random
    pressure: KeepRate = field(default_factory=KeepRate)
    held: int = 0
    refused: int = 0
    batch: int = 0
    answers_at: float = 0.0
    kept: set[int] = field(default_factory=set[int])

    def offer(self, traces: range, now: float, important: set[int]) -> None:
        """One segment of each trace."""
        self._answer(now)
        rate = self.pressure.look(self.held, self.held / ROOM, now)
        for trace in traces:
            matters = trace in important
            is_kept = matters or place_of(b"%x" % trace) < rate
            self.pressure.note(int(not matters), int(is_kept and not matters), int(matters))
            if is_kept and self.held < ROOM:
                self.held += 1
                self.kept.add(trace)
            self.refused += is_kept and trace not in self.kept

    def _answer(self, now: float) -> None:
        while self.answers_at <= now:
            self.held -= self.batch
            self.batch = min(BATCH, self.held)
            seconds = self.batch / self.takes * self.random.uniform(0.9, 1.1) if self.batch else 0.1
            self.answers_at = max(self.answers_at, now - 0.1) + seconds


def serve(services: list[Service], load: float, seconds: float, share: float) -> tuple[set[int], int]:
    """The important traces, and how many there were in all: groups of traces at a steady load, each in all services."""
    random, made, important = Random(7), 0, set[int]()
    while made < load * seconds:
        traces = range(made, made + GROUP)
        important |= {trace for trace in traces if random.random() < share}
        for service in services:
            service.offer(traces, made / load, important)
        made += GROUP
    return important, made


@pytest.mark.gate
@pytest.mark.parametrize("takes", [300.0, 800.0])
@pytest.mark.parametrize("seed", [1])
def test_three_services_keep_what_matters_and_whole_traces(takes: float, seed: int) -> None:
    services = [Service(takes, Random(3 * seed + number)) for number in range(3)]
    important, _ = serve(services, load=5 * takes, seconds=60.0, share=0.05)
    for service in services:
        assert service.refused == 0
        assert important <= service.kept
        assert service.held > 0.7 * ROOM, "room that is kept free is of no use"
    whole = set.intersection(*[service.kept for service in services])
    ordinary = [service.kept - important for service in services]
    assert sum(len(each & whole) for each in ordinary) >= 0.95 * sum(map(len, ordinary))


def test_everything_is_kept_while_the_collector_keeps_up() -> None:
    service = Service(1000.0, Random(1))
    _, made = serve([service], load=950.0, seconds=60.0, share=0.0)
    assert len(service.kept) == made
    assert service.pressure.episode == 0


def test_what_matters_finds_room_while_no_collector_answers() -> None:
    service = Service(1000.0, Random(1), answers_at=1e9)
    important, _ = serve([service], load=1000.0, seconds=60.0, share=0.003)
    assert service.refused == 0
    assert important <= service.kept
    assert 0.95 * ROOM < service.held < ROOM


def test_everything_is_kept_again_after_the_pressure() -> None:
    service = Service(1000.0, Random(1))
    serve([service], load=5000.0, seconds=30.0, share=0.0)
    assert service.pressure.rate < 0.5
    service.pressure.look(6000, 0.6, 31.0)
    assert (service.pressure.rate, service.pressure.is_pressed) == (1.0, False)


class TestAnyCourse:
    """Whatever the channel does."""

    @pytest.mark.gate
    @settings(max_examples=200)
    @given(st.lists(st.tuples(st.integers(0, ROOM), st.floats(0.0, 10.0), st.integers(0, 64)), max_size=60))
    def test_a_rate_is_a_share(self, looks: list[tuple[int, float, int]]) -> None:
        pressure, now = KeepRate(), 0.0
        for held, later, came in looks:
            now += later
            rate = pressure.look(held, held / ROOM, now)
            assert 0.0 <= rate <= 1.0
            assert rate == pressure.rate
            if held < NEARLY_FULL * ROOM:
                assert rate == 1.0
            if held >= 0.97 * ROOM:
                assert rate == 0.0
            kept = int(came * rate)
            pressure.note(came, kept, 0)

    @given(st.binary(max_size=64), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
    def test_a_higher_rate_keeps_what_a_lower_one_keeps(self, trace_id: bytes, one: float, other: float) -> None:
        low, high = sorted((one, other))
        place = place_of(trace_id)
        assert 0.0 <= place < 1.0
        assert not (place < low and not place < high)


def test_places_are_spread_evenly() -> None:
    prefix = b"0123456789abcdef0123"
    for first in (0, 16**11, 987_654_321):
        places = [place_of(prefix + b"%x" % number) for number in range(first, first + 10_000)]
        for tenth in range(10):
            assert 850 < sum(tenth / 10 <= place < (tenth + 1) / 10 for place in places) < 1150
