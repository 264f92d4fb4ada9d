"""D02: a record that cannot be encoded as it is is refused, or cut with a mark. Its neighbours are delivered."""

from __future__ import annotations

import json
import logging
from collections import Counter as Tally
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import anyio
import betterproto
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faults.covering import each_cell
from faults.data.poisons import LOGS, NASTY, SEGMENTS, Bomb, Poison, QuietLiar, logger
from faults.data.taking import Taker, read, taker_of, texts_of
from kit.unsafe_text import is_unsafe
from swagent import Agent, Config, Span, local_span
from swagent.ledger import SignalStatistics
from swagent.meters import Counter, Gauge, Histogram
from swagent.pipeline.encoder import Encoder
from swagent.record.limits import address_of, name_of
from swagent.record.meters import definitions as meters
from swagent.record.meters.registry import MeterRegistry
from swagent.record.trace.model import SpanKind
from swagent.record.trace.segment import Segment
from swagent.record.trace.tracer import Tracer
from swagent_proto import messages

pytestmark = pytest.mark.anyio

_PATIENCE = 20.0


@contextmanager
def _collector(transport: str, **settings: Any) -> Iterator[tuple[Taker, Agent]]:
    with taker_of(transport) as taker:
        settings = {"service": "shop", "instance": "one", "log_level": "critical", **taker.settings, **settings}
        yield taker, Agent(Config(**settings))


def _refused(poisons: Mapping[str, Poison]) -> dict[str, int]:
    return dict(Tally(each.outcome for each in poisons.values() if each.outcome != "delivered"))


def _check_ledger(statistics: SignalStatistics, poisons: Mapping[str, Poison], neighbours: int) -> None:
    assert {str(reason): count for reason, count in statistics.refused.items() if count} == _refused(poisons)
    made = sum(each.segments for each in poisons.values())
    assert statistics.confirmed == neighbours + made - sum(_refused(poisons).values())
    assert statistics.balanced


def _check_texts(record: Any) -> None:
    for text in texts_of(record):
        assert not list(filter(is_unsafe, text)), "no control character leaves"
        text.encode()


@pytest.mark.slow
@each_cell("D02")
async def test_a_poison_segment_costs_itself_only(transport: str) -> None:
    with _collector(transport) as (taker, agent):
        async with agent:
            for poison in SEGMENTS.values():
                poison.record()
                with local_span("neighbour"):
                    pass
            with anyio.fail_after(_PATIENCE):
                assert await agent.flush(_PATIENCE)
        statistics = agent.statistics().segment
        _check_ledger(statistics, SEGMENTS, len(SEGMENTS))
        segments = taker.segments
    assert len(segments) == statistics.confirmed
    assert sum(each.spans[-1].operation_name == "neighbour" for each in segments) == len(SEGMENTS)
    assert len({each.trace_segment_id for each in segments}) == len(segments)
    for segment in segments:
        _check_texts(segment)
        for span in segment.spans:
            assert len(span.operation_name) <= 150
            assert "\n" not in span.operation_name + span.peer
            assert len(span.tags) <= 128
            assert all(len(tag.value) <= 2048 and len(tag.key) <= 2048 for tag in span.tags)
            assert all(len(log.data) <= 128 for log in span.logs)
    _check_marks(segments)


def _check_marks(segments: list[Any]) -> None:
    """A cut shows."""
    tags = [(tag.key, tag.value) for segment in segments for span in segment.spans for tag in span.tags]
    assert [value.endswith("…[truncated]") for key, value in tags if len(value) > 2000] == [True]
    assert sum(segment.is_size_limited for segment in segments) == len(["1,000 tags", "1,000 fields"])
    assert max(len(segment.spans) for segment in segments) == 512


@each_cell("D02")
async def test_a_poison_log_record_costs_itself_only(transport: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # pytest's handlers raise what goes wrong in formatting, which those of an application do not
    monkeypatch.setattr(logger, "propagate", False)
    monkeypatch.setattr(logger, "handlers", [logging.NullHandler()])
    with _collector(transport, log_reporter_layout="%(message)s") as (taker, agent):
        async with agent:
            for poison in LOGS.values():
                poison.record()
                logger.error("neighbour")
            with anyio.fail_after(_PATIENCE):
                assert await agent.flush(_PATIENCE)
        statistics = agent.statistics().log
        _check_ledger(statistics, LOGS, len(LOGS))
        logs = taker.logs
    assert len(logs) == statistics.confirmed
    assert sum(each.body.text.text == "neighbour" for each in logs) == len(LOGS)
    for log in logs:
        _check_texts(log)
        assert len(log.body.text.text) <= 32 * 1024
    cut = [log.body.text.text for log in logs if len(log.body.text.text) > 4000]
    assert [text.endswith("…[truncated]") for text in cut] == [True, True]


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> MeterRegistry:
    """One of the test's own, in the place of the process's."""
    fresh = MeterRegistry()
    monkeypatch.setattr(meters, "REGISTRY", fresh)
    monkeypatch.setattr("swagent.runtime.recording.REGISTRY", fresh)
    return fresh


def _raise() -> float:
    raise MemoryError


def _measure(registry: MeterRegistry) -> None:
    calls = Counter("calls", registry=registry)
    for label in (NASTY, b"\xff", None, Bomb(ValueError), QuietLiar("x"), "v" * 10_000_000, "a\nb"):
        calls.labels(label=label, **{NASTY: label}).increment()
    for amount in (float("nan"), float("inf"), -1, "7", None, 10**400, Bomb(KeyError), 1):
        calls.increment(amount)  # type: ignore[arg-type]
    sizes = Histogram("sizes", [1, 2], registry=registry)
    for size in (float("nan"), float("-inf"), "1", None, 10**400, 1):
        sizes.observe(size)  # type: ignore[arg-type]
    for number, ask in enumerate((_raise, lambda: None, lambda: float("nan"), lambda: 10**400, lambda: "7", lambda: 7)):
        Gauge(f"gauge_{number}", ask, registry=registry)  # type: ignore[arg-type]


@each_cell("D02")
async def test_a_poison_meter_does_not_cost_the_report_of_all_meters(transport: str, registry: MeterRegistry) -> None:
    _measure(registry)
    with _collector(transport) as (taker, agent):
        async with agent:
            assert await agent.flush(_PATIENCE)
        statistics = agent.statistics()
        if transport == "http":
            assert statistics.meter.offered == 0, "OAP takes no meters over HTTP"
            assert not taker.heard().count(b"gauge_5")
            return
        found = taker.meters
    assert statistics.meter.confirmed == statistics.meter.offered > 0
    metrics: list[Any] = [betterproto.which_one_of(each, "metric")[1] for each in found]
    names = [each.name for each in metrics]
    assert [name for name in names if name.startswith("gauge")] == ["gauge_5"]
    assert names.count("calls") == 1 + 7
    assert "sizes" in names
    for meter in found:
        _check_texts(meter)


_texts = st.text(st.characters()) | st.text(st.sampled_from(NASTY + "\n\t a\u20ac"))
_values = st.none() | st.booleans() | st.integers() | st.floats() | _texts | st.binary() | st.just(Bomb(ValueError))
_numbers = st.none() | st.integers(-1, 8000) | st.integers() | st.floats() | st.text(max_size=3)


@pytest.mark.gate
@pytest.mark.parametrize("codec", ["protobuf", "json"])
def test_any_segment_is_well_formed(codec: Any) -> None:
    encoder, encoded = Encoder(codec), list[bytes]()

    def offer(segment: Segment) -> None:
        encoded.append(encoder.segment((segment, segment.spans)))

    @given(_values, _values, st.lists(st.tuples(_values, _values), max_size=5), _numbers, _numbers)
    def holds(name: Any, peer: Any, pairs: list[tuple[Any, Any]], component: Any, layer: Any) -> None:
        encoded.clear()
        tracer = Tracer("shop", "one", offer)
        with Span(
            name_of(name), SpanKind.EXIT, peer=address_of(peer), component=component, layer=layer, tracer=tracer
        ) as span:
            for key, value in pairs:
                span.tag(key, value).log(key=key, value=value)
            span.headers()
        [record] = encoded
        segment = read(record if codec == "protobuf" else json.loads(record), messages.SegmentObject)
        assert [len(each.tags) for each in segment.spans] == [len(pairs)]
        assert all(0 <= each.span_layer <= 6 and 0 <= each.component_id < 2**31 for each in segment.spans)
        _check_texts(segment)

    holds()
