"""A watch for the first record of a process notices it once, and passes it to the handlers that are there then."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from swagent.record.logs.capture import LogCapture, LogSettings
from swagent.record.logs.entry import LogEntry
from swagent.record.logs.first_record import FirstRecord

log = logging.getLogger("first-record")
METHODS = ["callHandlers", "handle"]


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    before = {name: getattr(logging.Logger, name) for name in METHODS}
    yield
    assert {name: getattr(logging.Logger, name) for name in METHODS} == before


class Handled(logging.Handler):
    """The records that the application's handlers get."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@pytest.fixture
def handled() -> Iterator[Handled]:
    handled = Handled()
    log.addHandler(handled)
    yield handled
    log.removeHandler(handled)


class Awakened:
    """Attaches a capture, as an agent does that starts."""

    def __init__(self, ignore_filter: bool) -> None:
        self.entries: list[LogEntry] = []
        self.count = 0
        self.capture = LogCapture(self.entries.append, LogSettings(ignore_filter=ignore_filter))

    def __call__(self) -> None:
        self.count += 1
        self.capture.attach()


@pytest.fixture(params=METHODS)
def awakened(request: pytest.FixtureRequest) -> Iterator[Awakened]:
    awakened = Awakened(request.param == "handle")
    yield awakened
    awakened.capture.detach()


def test_the_first_record_is_reported_by_what_it_has_started(awakened: Awakened, handled: Handled) -> None:
    first = FirstRecord(logging.WARNING, awakened.capture.settings.method, awakened)
    first.attach()
    log.warning("one")
    log.warning("two")
    assert awakened.count == 1
    assert [entry.text.rpartition(" - ")[2] for entry in awakened.entries] == ["one", "two"]
    assert handled.messages == ["one", "two"], "the application's handlers get each once"


def test_a_record_that_is_not_reported_starts_nothing(awakened: Awakened) -> None:
    first = FirstRecord(logging.WARNING, awakened.capture.settings.method, awakened)
    first.attach()
    log.info("below")
    logging.getLogger("swagent").warning("the agent's own")
    assert awakened.count == 0
    first.detach()
    log.warning("too late")
    assert awakened.count == 0


def test_behind_a_wrapper_of_another_library_the_record_is_handled_once(awakened: Awakened, handled: Handled) -> None:
    method = awakened.capture.settings.method
    original: Callable[..., Any] = getattr(logging.Logger, method)
    first = FirstRecord(logging.WARNING, method, awakened)
    first.attach()
    inner: Callable[..., Any] = getattr(logging.Logger, method)

    def theirs(logger: logging.Logger, record: logging.LogRecord) -> None:
        inner(logger, record)

    setattr(logging.Logger, method, theirs)
    try:
        log.warning("one")
        log.warning("two")
        awakened.capture.detach()
    finally:
        # our function, which could not be taken out: theirs is around it
        setattr(logging.Logger, method, original)
    assert handled.messages == ["one", "two"]
    assert [entry.text.rpartition(" - ")[2] for entry in awakened.entries] == ["two"]


def test_where_nothing_starts_the_record_passes(handled: Handled) -> None:
    first = FirstRecord(logging.WARNING, "callHandlers", lambda: None)
    first.attach()
    log.warning("one")
    assert handled.messages == ["one"]
