"""loguru: reported by itself or by a sink that the user adds, once."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterator
from typing import Any

import loguru
import pytest
from loguru import logger as loguru_logger

from record.recorded import recording
from swagent import entry_span
from swagent.logs import loguru_sink

from .captured import Captured, capturing


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    loguru_logger.remove()
    yield
    loguru_logger.remove()


def _sinks() -> int:
    return len(loguru_logger._core.handlers)  # type: ignore[attr-defined]


def test_a_record_is_reported_with_its_place(captured: Captured) -> None:
    with recording(), entry_span("GET:/stock") as span:
        loguru_logger.warning("stock of {} is {}", "nails", 3)
    entry = captured.only
    assert entry.text == "stock of nails is 3"
    assert entry[3:] == ("GET:/stock", span.trace_id, span.segment_id, 0)
    assert captured.tags == {"level": "WARNING", "logger": __name__, "thread": "MainThread"}


def test_a_record_below_the_level_is_not_reported(captured: Captured) -> None:
    loguru_logger.info("low")
    assert captured.entries == []


def test_the_agents_own_lines_are_never_reported(captured: Captured) -> None:
    def rename(record: Any) -> None:
        record["name"] = "swagent.agent"

    loguru_logger.patch(rename).error("the agent says")
    assert captured.entries == []


@pytest.mark.parametrize("formatted", [True, False])
def test_an_exception_is_recorded(formatted: bool) -> None:
    with capturing(formatted=formatted, safe_mode=True) as captured:
        try:
            raise ValueError("password=hunter2")
        except ValueError:
            loguru_logger.exception("failed")
    found = captured.only.text if formatted else captured.tags["exception"]
    assert found.endswith("ValueError: password=***")
    assert captured.only.text.startswith("failed")


def test_the_sink_is_gone_after_detach() -> None:
    with capturing() as captured:
        assert _sinks() == 1
        captured.capture.detach()
        assert _sinks() == 0


def test_an_application_that_removes_all_sinks_may_add_ours_again(captured: Captured) -> None:
    loguru_logger.remove()
    loguru_logger.warning("nothing")
    loguru_logger.add(loguru_sink)
    loguru_logger.warning("low")
    assert captured.texts == ["low"]


def test_two_sinks_report_a_record_once(captured: Captured) -> None:
    loguru_logger.add(loguru_sink)
    loguru_logger.add(loguru_sink, level="DEBUG")
    for number in range(5):
        loguru_logger.warning("{}", number)
    loguru_logger.debug("low")
    assert captured.texts == [str(number) for number in range(5)]


def test_where_loguru_is_not_loaded_yet_the_sink_is_added_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "loguru")
    with capturing() as captured:
        assert _sinks() == 0
        monkeypatch.setitem(sys.modules, "loguru", loguru)
        loguru_logger.add(loguru_sink)
        loguru_logger.warning("low")
        assert captured.texts == ["low"]


@pytest.mark.parametrize("message", ["text", None, 7])
def test_the_sink_does_nothing_without_an_agent_or_a_record(message: Any) -> None:
    loguru_sink(message)
    with capturing() as captured:
        loguru_sink(message)
    assert captured.entries == []


def test_a_record_that_is_forwarded_to_loguru_is_reported_once(captured: Captured, logger: logging.Logger) -> None:
    class Intercept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            loguru_logger.opt(depth=6, exception=record.exc_info).log(record.levelname, record.getMessage())

    logger.addHandler(Intercept())
    logger.warning("low")
    loguru_logger.warning("direct")
    assert captured.texts == ["low", "direct"]


def test_an_exception_that_logs_through_loguru_does_not_deadlock(captured: Captured) -> None:
    class Odd(Exception):
        def __str__(self) -> str:
            loguru_logger.warning("inside")
            return "odd"

    def work() -> None:
        loguru_logger.opt(exception=Odd()).warning("low")

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()
    assert captured.texts == ["low\nOdd: odd".replace("Odd:", f"{__name__}.{Odd.__qualname__}:")]


def test_something_that_is_no_record_of_loguru_is_left_alone(captured: Captured) -> None:
    captured.capture.report_loguru({})
    captured.capture.report_loguru({"time": 1, "name": "a", "level": None})
    assert captured.entries == []
