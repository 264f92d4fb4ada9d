"""Foreign code that runs while a record is reported: it may log, raise, recurse, sleep, and does no harm."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from faults.covering import covers
from record.recorded import recording
from swagent import entry_span
from swagent.record.logs.capture import LogCapture, LogEntry, LogSettings
from swagent.record.suppression import suppress_instrumentation
from swagent.record.trace.span import Span

from .captured import PLAIN, Captured, capturing

pytestmark = covers("C05")

# longer than any of these may take; a deadlock is what it is for
_WATCHDOG = 10.0


def _in_time(work: Callable[[], Any]) -> None:
    """Run in a thread that may hang."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(_WATCHDOG)
    assert not thread.is_alive(), "deadlock"
    if raised:
        raise raised[0]


class Saying:
    """An argument that does something before it says what it is."""

    def __init__(self, do: Callable[[], object]) -> None:
        self._do = do

    def __str__(self) -> str:
        self._do()
        return "said"

    __repr__ = __str__


@pytest.mark.parametrize("formatted", [True, False])
def test_an_argument_that_logs_is_reported_and_what_it_logs_is_not(logger: logging.Logger, formatted: bool) -> None:
    other = logging.getLogger("app.other")
    with capturing(formatted=formatted) as captured:
        _in_time(lambda: logger.warning("it %s", Saying(lambda: other.warning("inside"))))
        _in_time(lambda: logger.warning("afterwards"))
    assert captured.texts == (["it said", "afterwards"] if formatted else ["it %s", "afterwards"])


def test_a_message_that_logs_itself_comes_to_an_end(captured: Captured, logger: logging.Logger) -> None:
    message = Saying(lambda: logger.warning(message))
    _in_time(lambda: logger.warning(message))
    assert captured.texts == ["said"]


def test_an_argument_that_raises_costs_the_arguments_only(captured: Captured, logger: logging.Logger) -> None:
    recursing = Saying(lambda: str(recursing))
    logger.warning("it %s", Saying(lambda: 1 / 0))
    logger.warning("it %s %s", 1)
    logger.warning(Saying(lambda: 1 / 0))
    _in_time(lambda: logger.warning("it %s", recursing))
    assert captured.texts == [
        "it %s …[arguments not filled in: ZeroDivisionError]",
        "it %s %s …[arguments not filled in: TypeError]",
        "<Saying without text> …[arguments not filled in: ZeroDivisionError]",
        "it %s …[arguments not filled in: RecursionError]",
    ]


def test_a_raw_argument_that_raises_is_seen_to(logger: logging.Logger) -> None:
    with capturing(formatted=False) as captured:
        logger.warning("it %s", Saying(lambda: 1 / 0))
    assert captured.tags["argument.0"] == "<Saying without text>"


def test_an_argument_that_sleeps_holds_up_no_other_thread(captured: Captured, logger: logging.Logger) -> None:
    asleep, awake = threading.Event(), threading.Event()

    def sleep() -> None:
        asleep.set()
        assert awake.wait(_WATCHDOG)

    sleeper = threading.Thread(target=logger.warning, args=("it %s", Saying(sleep)))
    sleeper.start()
    assert asleep.wait(_WATCHDOG)
    _in_time(lambda: logger.warning("meanwhile"))
    assert captured.texts == ["meanwhile"]
    awake.set()
    sleeper.join()
    assert captured.texts == ["meanwhile", "it said"]


def test_an_argument_that_waits_for_a_thread_that_logs_does_not_deadlock(
    captured: Captured, logger: logging.Logger
) -> None:
    def wait_for_another() -> None:
        thread = threading.Thread(target=logger.warning, args=("another",))
        thread.start()
        thread.join()

    _in_time(lambda: logger.warning("it %s", Saying(wait_for_another)))
    assert captured.texts == ["another", "it said"]


def test_a_thread_in_a_copy_of_the_context_counts_as_inside(captured: Captured, logger: logging.Logger) -> None:
    def wait_for_a_copy() -> None:
        thread = threading.Thread(target=contextvars.copy_context().run, args=(logger.warning, "copy"))
        thread.start()
        thread.join()

    _in_time(lambda: logger.warning("it %s", Saying(wait_for_a_copy)))
    assert captured.texts == ["it said"]


def test_a_task_that_foreign_code_starts_is_heard_later(captured: Captured, logger: logging.Logger) -> None:
    started: list[asyncio.Task[None]] = []

    async def later() -> None:
        logger.warning("later")

    async def main() -> None:
        start = Saying(lambda: started.append(asyncio.ensure_future(later())) if not started else None)
        logger.warning("it %s", start)
        await started[0]

    asyncio.run(main())
    assert captured.texts == ["it said", "later"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, asyncio.CancelledError, GeneratorExit])
def test_an_exception_that_ends_a_thread_or_a_task_passes(
    captured: Captured, logger: logging.Logger, error: type[BaseException]
) -> None:
    def stop() -> None:
        raise error

    with pytest.raises(error):
        logger.warning("it %s", Saying(stop))
    logger.warning("afterwards")
    assert captured.texts == ["afterwards"]


def test_an_operations_name_that_logs_and_raises_is_recorded_as_unreadable(
    captured: Captured, logger: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def name(_: Span) -> str:
        logger.warning("naming")
        raise KeyError("route")

    with recording(), entry_span("GET:/stock"), monkeypatch.context() as patch:
        patch.setattr(Span, "name_now", name)
        logger.warning("low")
    assert captured.texts == ["<a log record that cannot be read: KeyError>"]


def test_an_offer_that_logs_does_not_come_back(logger: logging.Logger) -> None:
    offered: list[str] = []

    def offer(entry: LogEntry) -> None:
        offered.append(entry.text)
        logger.error("the channel is full")
        logging.getLogger("hpack").error("table")

    capture = LogCapture(offer, LogSettings(layout=PLAIN))
    capture.attach()
    _in_time(lambda: logger.warning("low"))
    capture.detach()
    assert offered == ["low"]


def test_records_of_libraries_on_the_agents_behalf_are_not_reported(captured: Captured) -> None:
    def work() -> None:
        suppress_instrumentation.set(True)
        for name in ("grpclib", "h2.connection", "hpack", "httpx", "httpcore", "aiokafka", "asyncio"):
            logging.getLogger(name).error("connection lost")

    contextvars.copy_context().run(work)
    logging.getLogger("httpx").warning("the application's own")
    assert captured.texts == ["the application's own"]


def test_logging_at_the_end_of_the_stack_raises_nothing_of_ours(captured: Captured, logger: logging.Logger) -> None:
    def descend() -> None:
        try:
            descend()
        except RecursionError:
            logger.warning("low")

    _in_time(lambda: contextvars.copy_context().run(_until_no_stack_is_left, descend))
    logger.warning("afterwards")
    assert captured.texts[-1] == "afterwards"


def _until_no_stack_is_left(descend: Callable[[], None]) -> None:
    with suppress(RecursionError):
        descend()
