"""structlog: a processor that reports events and adds the trace's id."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from record.recorded import recording
from swagent import entry_span
from swagent.logs import structlog_processor

from .captured import Captured, capturing


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    logger_class = logging.getLoggerClass()
    yield
    structlog.reset_defaults()
    # structlog's factory for logging sets it for good
    logging.setLoggerClass(logger_class)


def _configured(**settings: Any) -> Any:
    rest = {"logger_factory": structlog.ReturnLoggerFactory(), **settings}
    structlog.configure(processors=[structlog_processor, structlog.processors.KeyValueRenderer()], **rest)
    return structlog.get_logger("shop")


def test_an_event_is_reported_and_goes_on(captured: Captured) -> None:
    shown = _configured().bind(item="nails").warning("low", left=3)
    assert captured.only.text == "low"
    assert captured.tags == {"level": "warning", "thread": "MainThread", "item": "nails", "left": "3"}
    assert shown == "item='nails' left=3 event='low'"


def test_inside_a_trace_the_event_gets_its_id(captured: Captured) -> None:
    with recording(), entry_span("GET:/stock") as span:
        shown = _configured().warning("low")
        assert captured.only[3:] == ("GET:/stock", span.trace_id, span.segment_id, 0)
    assert shown == f"event='low' trace_id='{span.trace_id}'"


def test_an_id_that_is_there_stays(captured: Captured) -> None:
    with recording(), entry_span("GET:/stock"):
        assert structlog_processor(None, "info", {"trace_id": "theirs"}) == {"trace_id": "theirs"}


def test_without_an_agent_nothing_happens() -> None:
    event: dict[str, object] = {"event": "low"}
    assert structlog_processor(None, "warning", event) is event
    assert event == {"event": "low"}


@pytest.mark.parametrize(
    ("method", "reported"),
    [("debug", False), ("info", False), ("msg", False), ("warn", True), ("warning", True), ("err", True),
     ("error", True), ("exception", True), ("critical", True), ("fatal", True)],
)  # fmt: skip
def test_the_method_says_the_level(captured: Captured, method: str, reported: bool) -> None:
    structlog_processor(None, method, {"event": "low"})
    assert bool(captured.entries) == reported


def test_an_event_that_goes_on_to_logging_is_reported_once(captured: Captured) -> None:
    logger = _configured(logger_factory=structlog.stdlib.LoggerFactory(), wrapper_class=structlog.stdlib.BoundLogger)
    logger.warning("low")
    assert captured.texts == ["event='low'"]
    assert captured.tags["logger"] == "shop"


def test_a_record_of_logging_that_structlog_formats_is_reported_once(
    captured: Captured, logger: logging.Logger
) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processor=structlog.processors.KeyValueRenderer(), foreign_pre_chain=[structlog_processor]
        )
    )
    logger.addHandler(handler)
    logger.warning("low")
    assert captured.texts == ["low"]


@pytest.mark.parametrize("formatted", [True, False])
def test_an_exception_is_recorded(formatted: bool) -> None:
    with capturing(formatted=formatted) as captured:
        try:
            raise ValueError("no nails")
        except ValueError as error:
            for exc_info in (True, error, (ValueError, error, error.__traceback__)):
                structlog_processor(None, "error", {"event": "failed", "exc_info": exc_info, "item": "nails"})
    for entry in captured.entries:
        found = entry.text if formatted else dict(entry.tags)["exception"]
        assert found.endswith("ValueError: no nails")
        assert "Traceback" in found
        assert dict(entry.tags)["item"] == "nails"
    assert len(captured.entries) == 3


def test_safe_mode_masks_by_the_fields_name() -> None:
    with capturing(safe_mode=True) as captured:
        structlog_processor(None, "error", {"event": "x", "db_password": "hunter2", "url": "http://u:hunter2@h"})
    assert "hunter2" not in repr(captured.entries)
    assert captured.tags["db_password"] == "***"


def test_fields_beyond_128_are_left_out_visibly(captured: Captured) -> None:
    structlog_processor(None, "error", {str(number): number for number in range(500)})
    assert captured.only.tags[-2:] == [("127", "127"), ("truncated", "true")]


@pytest.mark.parametrize("event", ["rendered", b"rendered", ("a", 1), None])
def test_a_text_that_a_renderer_made_goes_through(captured: Captured, event: Any) -> None:
    assert structlog_processor(None, "error", event) is event
    assert captured.texts == [str(event)]
