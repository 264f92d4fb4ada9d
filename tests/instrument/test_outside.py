"""Calls to databases and caches outside of any request: counted, and traces only where a setting says so."""

from __future__ import annotations

import uuid
from contextvars import copy_context

import pytest

from record.recorded import Recorder
from swagent import Config, capture, entry_span, local_span
from swagent.instrument import call, outside, settings
from swagent.instrument.configured import settings_of
from swagent.meters import REGISTRY
from swagent.record.meters.samples import SingleSample
from swagent.record.trace import span as span_module
from swagent.record.trace.model import Component, Layer

PEER = f"db-{uuid.uuid4().hex}:5432"  # meters outlive agents


@pytest.fixture(autouse=True)
def by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "_current", settings_of(Config()))


def ask(layer: Layer = Layer.DATABASE) -> bool:
    """Whether a call is recorded."""
    span = call.begin_call("PostgreSQL/AsyncPG/bind", PEER, layer, Component.ASYNCPG)
    if span is not None:
        span.stop()
    return span is not None


def counted() -> float:
    found = [each for each in REGISTRY.counts() if each.name == "swagent_calls_outside_requests"]
    return sum(each.value for each in found if isinstance(each, SingleSample) and ("peer", PEER) in each.labels)


@pytest.mark.parametrize("layer", [Layer.DATABASE, Layer.CACHE])
def test_a_call_outside_of_any_request_is_counted(recorder: Recorder, layer: Layer) -> None:
    before = counted()
    assert not any(ask(layer) for _ in range(3))
    assert counted() == before + 3
    assert not recorder.segments


def test_a_call_of_another_kind_is_a_trace(recorder: Recorder) -> None:
    before = counted()
    assert ask(Layer.HTTP)
    assert ask(Layer.MQ)
    assert counted() == before
    assert len(recorder.segments) == 2


def test_a_setting_makes_it_a_trace(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = Config(trace_calls_outside_requests=True)
    monkeypatch.setattr(settings, "_current", settings_of(wanted))
    assert ask()
    assert recorder.names == [["PostgreSQL/AsyncPG/bind"]]
    assert settings.current()._replace(calls_outside_requests=False) == settings_of(Config())


def test_a_call_below_a_span_of_any_kind_is_recorded(recorder: Recorder) -> None:
    before = counted()
    with local_span("script"):
        assert ask()
    with entry_span("GET:/"):
        assert ask()
    assert counted() == before
    assert recorder.names == [["script", "PostgreSQL/AsyncPG/bind"], ["GET:/", "PostgreSQL/AsyncPG/bind"]]


def test_what_a_request_leaves_behind_continues_it_and_later_is_counted(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with entry_span("GET:/"):
        snapshot, left_behind = capture(), copy_context()
    assert left_behind.run(ask)
    with snapshot:
        assert ask()
    request, *others = recorder.segments
    assert [each.spans[0].refs[0].segment_id for each in others] == [request.id] * 2
    monkeypatch.setattr(span_module, "_CONTINUED_FOR", -1.0)
    before = counted()
    assert not left_behind.run(ask)
    assert counted() == before + 1


def test_there_is_a_bound_on_its_meters(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outside, "_MOST", len(outside._counters) + 2)
    for number in range(5):
        assert call.begin_call("Redis/GET", f"{number}.{PEER}", Layer.CACHE, Component.REDIS) is None
    assert len(outside._counters) == outside._MOST + 1
    assert outside._OVERFLOW in outside._counters
