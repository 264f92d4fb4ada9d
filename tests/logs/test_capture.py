"""Which records are reported, what they carry, and that the application's logging is as it would be without."""

from __future__ import annotations

import io
import logging
import logging.config
import logging.handlers
import queue
import time
from typing import Any

import pytest

from record.recorded import recording
from swagent import entry_span, local_span
from swagent.record.logs import capture as logs

from .captured import Captured, capturing


def test_a_warning_is_reported_with_its_level_logger_and_thread(captured: Captured, logger: logging.Logger) -> None:
    before = int(time.time() * 1000)
    logger.warning("stock of %s is %d", "nails", 3)
    entry = captured.only
    assert entry.text == "stock of nails is 3"
    assert before <= entry.time <= time.time() * 1000
    assert captured.tags == {"level": "WARNING", "logger": logger.name, "thread": "MainThread"}
    assert entry[3:] == ("", "", "", -1)


@pytest.mark.parametrize(("level", "expected"), [(10, 5), (20, 4), (30, 3), (35, 2), (51, 0)])
def test_a_record_below_the_level_is_not_reported(logger: logging.Logger, level: int, expected: int) -> None:
    logger.setLevel(logging.DEBUG)
    with capturing(level=level) as captured:
        for each in (10, 20, 30, 40, 50):
            logger.log(each, "a message")
    assert len(captured.entries) == expected


@pytest.mark.parametrize("name", ["swagent", "swagent.record", "swagent_transports.grpc"])
def test_the_agents_own_lines_are_never_reported(captured: Captured, name: str) -> None:
    logging.getLogger(name).error("the agent says")
    assert captured.entries == []


# -- the trace --------------------------------------------------------------------------------------------------------


def test_a_record_inside_a_span_knows_its_place(captured: Captured, logger: logging.Logger) -> None:
    with recording(), entry_span("GET:/stock"), local_span("count") as span:
        logger.warning("low")
        assert captured.only[3:] == ("GET:/stock", span.trace_id, span.segment_id, 1)


def test_a_record_of_a_trace_that_is_not_recorded_is_reported_without_it(
    captured: Captured, logger: logging.Logger
) -> None:
    with recording(is_ignored=lambda name: True), entry_span("GET:/ping"):
        logger.warning("low")
    assert captured.only[3:] == ("", "", "", -1)


def test_logging_outside_of_spans_takes_nothing_from_the_sampling(captured: Captured, logger: logging.Logger) -> None:
    from swagent.record.trace.sampling import Sampler

    with recording(sampler=Sampler(1)) as recorder:
        logger.warning("low")
        with entry_span("GET:/stock"):
            pass
        assert recorder.names == [["GET:/stock"]]


def test_the_applications_formatters_may_show_the_trace(captured: Captured, logger: logging.Logger) -> None:
    lines = _lines_of(logger, "%(tid)s %(message)s")
    with recording(), entry_span("GET:/stock") as span:
        logger.warning("in")
    logger.warning("out")
    assert lines() == [f"{span.trace_id} in", "N/A out"]


def test_a_field_of_the_same_name_stays_the_applications(captured: Captured, logger: logging.Logger) -> None:
    lines = _lines_of(logger, "%(tid)s")
    logger.warning("a thread", extra={"tid": 7})
    assert lines() == ["7"]


def test_a_record_that_is_older_than_the_capture_can_be_formatted(captured: Captured, logger: logging.Logger) -> None:
    captured.capture.detach()
    old = logger.makeRecord(logger.name, 30, "f", 1, "old", (), None)
    captured.capture.attach()
    lines = _lines_of(logger, "%(tid)s %(message)s")
    logger.handle(old)
    assert lines() == ["N/A old"]


def _lines_of(logger: logging.Logger, layout: str) -> Any:
    records: queue.SimpleQueue[str] = queue.SimpleQueue()
    handler = logging.Handler()
    handler.emit = lambda record: records.put(logging.Formatter(layout).format(record))  # type: ignore[method-assign]
    logger.addHandler(handler)
    return lambda: [records.get() for _ in range(records.qsize())]


# -- the application's own logging ------------------------------------------------------------------------------------


def test_loggers_that_do_not_propagate_are_reported(captured: Captured, logger: logging.Logger) -> None:
    logger.propagate = False
    logger.warning("here")
    assert captured.texts == ["here"]


def test_a_disabled_logger_is_not_reported(captured: Captured, logger: logging.Logger) -> None:
    logger.disabled = True
    logger.warning("nothing")
    logging.disable(logging.CRITICAL)
    logger.disabled = False
    logger.warning("nothing")
    logging.disable(logging.NOTSET)
    assert captured.entries == []


@pytest.mark.parametrize("ignore_filter", [False, True])
def test_a_record_that_a_loggers_filter_holds_back_is_reported_on_request_only(
    logger: logging.Logger, ignore_filter: bool
) -> None:
    logger.addFilter(lambda record: "secret" not in record.getMessage())
    with capturing(ignore_filter=ignore_filter) as captured:
        logger.warning("secret")
        logger.warning("open")
        logger.disabled = True
        logger.warning("nothing")
    assert captured.texts == (["secret", "open"] if ignore_filter else ["open"])


def test_a_record_that_a_handlers_filter_changes_is_reported_changed(
    captured: Captured, logger: logging.Logger
) -> None:
    def redact(record: logging.LogRecord) -> bool:
        record.msg = "redacted"
        return True

    handler = logging.StreamHandler(io.StringIO())
    handler.addFilter(redact)
    logger.addHandler(handler)
    logger.warning("hunter2")
    assert captured.texts == ["redacted"]


@pytest.mark.parametrize("ignore_filter", [False, True])
def test_a_handler_that_raises_does_so_and_the_record_is_reported(logger: logging.Logger, ignore_filter: bool) -> None:
    handler = logging.Handler()
    handler.handle = lambda record: 1 / 0  # type: ignore[method-assign, assignment, return-value]
    logger.addHandler(handler)
    with capturing(ignore_filter=ignore_filter) as captured:
        with pytest.raises(ZeroDivisionError):
            logger.warning("low")
        assert captured.texts == ["low"]


def test_basic_config_works_as_without_the_capture(captured: Captured) -> None:
    logging.basicConfig()
    assert len(logging.root.handlers) == 1
    logging.root.handlers.clear()


def test_warnings_without_a_handler_still_reach_stderr(
    captured: Captured, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging, "lastResort", logging.StreamHandler())
    logging.getLogger("app.unhandled").warning("low")
    assert capsys.readouterr().err == "low\n"
    assert captured.texts == ["low"]


def test_a_reconfiguration_does_not_end_the_capture(captured: Captured) -> None:
    handler = {"class": "logging.NullHandler"}
    for _ in range(2):
        logging.config.dictConfig(
            {"version": 1, "disable_existing_loggers": False, "handlers": {"h": handler}, "root": {"handlers": ["h"]}}
        )
        logging.getLogger("app.reconfigured").warning("low")
    logging.basicConfig(force=True, handlers=[logging.NullHandler()])
    logging.getLogger("app.reconfigured").warning("low")
    logging.root.handlers.clear()
    assert captured.texts == ["low"] * 3


def test_the_caller_is_the_applications_code(captured: Captured, logger: logging.Logger) -> None:
    lines = _lines_of(logger, "%(filename)s %(funcName)s")
    logger.warning("low")
    assert lines() == ["test_capture.py test_the_caller_is_the_applications_code"]


def test_a_record_from_a_queue_keeps_its_own_time_and_thread(captured: Captured, logger: logging.Logger) -> None:
    record = logger.makeRecord(logger.name, 30, "f", 1, "from %s", ("afar",), None)
    record.created, record.threadName = 1234.5, "worker"
    handler = logging.handlers.QueueHandler(queue.SimpleQueue())
    logger.handle(handler.prepare(record))
    assert (captured.only.time, captured.only.text) == (1234500, "from afar")
    assert captured.tags["thread"] == "worker"


def test_something_that_is_hardly_a_record_is_the_handlers_matter(captured: Captured, logger: logging.Logger) -> None:
    class Hardly:
        levelno = 30

    record: Any = Hardly()
    logger.propagate = False
    logger.callHandlers(record)
    record.name = 7
    logger.callHandlers(record)
    assert captured.entries == []


# -- attach and detach ------------------------------------------------------------------------------------------------


def test_the_running_capture_is_the_one_attached_last() -> None:
    assert logs.running() is None
    with capturing() as first:
        with capturing() as second:
            assert logs.running() is second.capture
        assert logs.running() is first.capture
    assert logs.running() is None


def test_a_second_attach_reports_nothing_twice_and_a_detach_ends_it(captured: Captured, logger: logging.Logger) -> None:
    captured.capture.attach()
    logger.warning("low")
    assert captured.capture.is_attached
    captured.capture.detach()
    logger.warning("nothing")
    assert not captured.capture.is_attached
    captured.capture.attach()
    logger.warning("again")
    assert captured.texts == ["low", "again"]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_captures_leave_in_any_order(logger: logging.Logger, order: tuple[int, int]) -> None:
    original = logging.Logger.callHandlers
    both = [Captured(), Captured()]
    for each in both:
        each.capture.attach()
    logger.warning("both")
    both[order[0]].capture.detach()
    logger.warning("one")
    both[order[1]].capture.detach()
    logger.warning("none")
    assert both[order[0]].texts == ["both"]
    assert both[order[1]].texts == ["both", "one"]
    assert logging.Logger.callHandlers is original


def test_a_function_that_others_patched_meanwhile_stays(
    logger: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = logging.Logger.callHandlers
    captured = Captured()
    captured.capture.attach()
    inner = logging.Logger.callHandlers
    seen: list[str] = []

    def foreign(self: logging.Logger, record: logging.LogRecord) -> None:
        seen.append(record.getMessage())
        inner(self, record)

    monkeypatch.setattr(logging.Logger, "callHandlers", foreign)
    captured.capture.detach()
    assert logging.Logger.callHandlers is foreign
    logger.warning("theirs only")
    assert seen == ["theirs only"]
    assert captured.entries == []
    # they put back what they found, which was ours; the next capture sees through it
    monkeypatch.undo()
    assert logging.Logger.callHandlers is inner
    captured.capture.attach()
    logger.warning("low")
    captured.capture.detach()
    assert captured.texts == ["low"]
    assert logging.Logger.callHandlers is original


def test_a_record_that_handlers_detach_at_is_not_reported(captured: Captured, logger: logging.Logger) -> None:
    handler = logging.Handler()
    handler.emit = lambda record: captured.capture.detach()  # type: ignore[method-assign]
    logger.addHandler(handler)
    logger.warning("low")
    assert captured.entries == []


def test_an_offer_that_raises_is_nobodys_trouble(logger: logging.Logger) -> None:
    def refuse(_: object) -> None:
        raise LookupError("it is not taken")

    for capture in (
        logs.LogCapture(refuse, logs.LogSettings()),
        logs.LogCapture(lambda _: None, logs.LogSettings(), refuse),
    ):
        capture.attach()
        try:
            logger.warning("sold out")
        finally:
            capture.detach()
