"""Records where no span is open, and the next one would continue a trace: under a snapshot in another thread, and in
a task behind its request."""

from __future__ import annotations

import contextvars
import logging
from collections.abc import Callable
from typing import Any

import loguru
import pytest

from record.recorded import in_a_thread, recording
from swagent import capture, current_span, current_trace_id, entry_span, local_span
from swagent.logs import structlog_processor
from swagent.record.logs.origin import NOWHERE
from swagent.record.trace import span as span_module

from .captured import Captured, capturing


class Seen:
    """What code that has no span of its own finds."""

    def __init__(self, logger: logging.Logger) -> None:
        self.trace_id = ""
        self.tid: Any = None
        self._logger = logger

    def log(self) -> None:
        handler = logging.Handler()
        handler.emit = self._note  # type: ignore[method-assign]
        self._logger.addHandler(handler)
        self.trace_id = current_trace_id()
        assert current_span() is None
        self._logger.warning("low")

    def _note(self, record: logging.LogRecord) -> None:
        self.tid = record.__dict__["tid"]


@pytest.fixture
def seen(logger: logging.Logger) -> Seen:
    return Seen(logger)


def under_a_snapshot(function: Callable[[], object]) -> Callable[[], object]:
    snapshot = capture()

    def run() -> None:
        with snapshot:
            function()

    return lambda: in_a_thread(run)


def in_a_context(function: Callable[[], object]) -> Callable[[], object]:
    context = contextvars.copy_context()
    return lambda: context.run(function)


@pytest.mark.parametrize("carry", [under_a_snapshot, in_a_context])
def test_they_have_the_place_that_the_next_span_refers_to(
    captured: Captured, seen: Seen, carry: Callable[[Any], Callable[[], object]]
) -> None:
    with recording() as recorder:
        with entry_span("GET:/stock"), local_span("step"):
            log = carry(seen.log)
            begin = carry(lambda: local_span("next").start().stop())
        log()
        begin()
    [place] = recorder.span("next").refs
    assert captured.only[3:] == ("GET:/stock", place.trace_id, place.segment_id, place.span_id)
    assert recorder.of("step").id == place.segment_id
    assert recorder.span("step").id == place.span_id
    assert seen.trace_id == seen.tid == place.trace_id


@pytest.mark.parametrize("layout", ["%(message)s", "%(funcName)s %(message)s"], ids=["plain", "full"])
def test_a_record_under_a_snapshot_while_its_span_is_open(layout: str, logger: logging.Logger) -> None:
    with capturing(layout=layout) as captured, recording(), entry_span("GET:/stock") as span:
        under_a_snapshot(lambda: logger.warning("low"))()
        assert captured.only[3:] == ("GET:/stock", span.trace_id, span.segment_id, 0)


def test_a_record_with_an_exception_takes_the_full_path(captured: Captured, logger: logging.Logger) -> None:
    def work() -> None:
        try:
            raise ValueError("none left")
        except ValueError:
            logger.exception("low")

    with recording(), entry_span("GET:/stock") as span:
        under_a_snapshot(work)()
    assert captured.only[3:] == ("GET:/stock", span.trace_id, span.segment_id, 0)


def test_a_minute_later_they_belong_to_no_trace(
    captured: Captured, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(span_module, "_CONTINUED_FOR", -1.0)
    with recording():
        with entry_span("GET:/stock"):
            log = in_a_context(seen.log)
        log()
    assert captured.only[3:] == NOWHERE
    assert (seen.trace_id, seen.tid) == ("", "N/A")


@pytest.mark.parametrize("carry", [under_a_snapshot, in_a_context])
def test_behind_what_is_not_recorded_they_belong_to_no_trace(
    captured: Captured, seen: Seen, carry: Callable[[Any], Callable[[], object]]
) -> None:
    with recording(is_ignored=lambda name: name == "/health"):
        with entry_span("/health") as span:
            log = carry(seen.log)
        assert not span.is_recorded
        log()
    assert captured.only[3:] == NOWHERE
    assert (seen.trace_id, seen.tid) == ("", "N/A")


def test_those_of_loguru_and_structlog_have_it_too(captured: Captured) -> None:
    events: list[Any] = []

    def work() -> None:
        loguru.logger.warning("low")
        events.append(structlog_processor(None, "warning", {"event": "lower"}))

    captured.capture.attach_loguru()
    with recording(), entry_span("GET:/stock") as span:
        under_a_snapshot(work)()
    assert [entry[3:] for entry in captured.entries] == [("GET:/stock", span.trace_id, span.segment_id, 0)] * 2
    assert events == [{"event": "lower", "trace_id": span.trace_id}]
