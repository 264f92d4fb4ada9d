from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from swagent.pipeline.keep_rate import place_of
from swagent.pipeline.shedding import Outline, Shedding
from swagent.record.meters.samples import SingleSample

RESERVED = 0.98
outlines = st.builds(
    Outline,
    st.sampled_from(["GET:/a", "GET:/b", "POST:/c", "GET:/d"]),
    st.binary(min_size=1, max_size=32),
    st.floats(0.0, 100.0),
    st.booleans(),
)


def pressed(fill: float = RESERVED, max_endpoints: int = 256) -> Shedding:
    shedding = Shedding(max_endpoints)
    shedding.pressure.look(int(fill * 10_000), fill, 0.0)
    return shedding


def usual(endpoint: str = "GET:/a", trace_id: bytes = b"trace", seconds: float = 0.01) -> Outline:
    return Outline(endpoint, trace_id, seconds, failed=False)


def shed(shedding: Shedding) -> dict[str, float]:
    found: dict[str, float] = {}
    for sample in shedding.collect():
        assert isinstance(sample, SingleSample)
        assert sample.name == "swagent_segments_shed"
        ((label, endpoint),) = sample.labels
        assert label == "endpoint"
        found[endpoint] = sample.value
    return found


def test_the_first_of_each_endpoint_is_kept() -> None:
    shedding = pressed()
    decisions = [shedding.keeps(usual(endpoint)) for endpoint in ("GET:/a", "GET:/a", "GET:/b", "GET:/b", "GET:/b")]
    assert decisions == [True, False, True, False, False]
    assert shed(shedding) == {"GET:/a": 1.0, "GET:/b": 2.0}


def test_the_next_time_of_pressure_has_firsts_of_its_own() -> None:
    shedding = pressed()
    assert [shedding.keeps(usual()) for _ in range(2)] == [True, False]
    shedding.pressure.look(100, 0.01, 1.0)
    shedding.pressure.look(9800, RESERVED, 2.0)
    assert [shedding.keeps(usual()) for _ in range(2)] == [True, False]


def test_slow_ones_are_kept_by_what_was_learned_before() -> None:
    shedding = Shedding()
    for _ in range(40):
        shedding.learn(usual(seconds=0.01))
        shedding.learn(usual("GET:/report", seconds=2.0))
    shedding.pressure.look(9800, RESERVED, 0.0)
    for endpoint in ("GET:/a", "GET:/report"):
        assert shedding.keeps(usual(endpoint)), "its first"
    assert shedding.keeps(usual(seconds=0.1))
    assert not shedding.keeps(usual("GET:/report", seconds=2.0)), "that is usual there"


def test_endpoints_are_bounded() -> None:
    shedding = pressed(max_endpoints=3)
    for number in range(100):
        for _ in range(2):
            shedding.keeps(usual(f"GET:/{number}"))
    assert shed(shedding) == {"GET:/0": 1.0, "GET:/1": 1.0, "GET:/2": 1.0, "_overflow": 193.0}


@given(st.lists(outlines, max_size=60), st.floats(0.75, 1.0))
def test_each_decision_has_a_reason_and_a_count(offered: list[Outline], fill: float) -> None:
    shedding, known, dropped = pressed(fill), set[str](), Counter[str]()
    for outline in offered:
        is_kept = shedding.keeps(outline)
        if outline.failed or outline.endpoint not in known or place_of(outline.trace_id) < shedding.pressure.rate:
            assert is_kept
        known.add(outline.endpoint)
        dropped[outline.endpoint] += not is_kept
    assert shed(shedding) == {endpoint: count for endpoint, count in dropped.items() if count}
