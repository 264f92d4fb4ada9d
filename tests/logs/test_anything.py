"""For any call of a logger, nothing is raised and exactly one bounded record is reported."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swagent.config import Config
from swagent.errors import ConfigError
from swagent.logs import structlog_processor
from swagent.record.logs.entry import MAX_TAG, MAX_TEXT, LogEntry

from .captured import Captured, capturing


class _Odd:
    """A value that cannot be shown."""

    def __init__(self, error: type[Exception]) -> None:
        self._error = error

    def __str__(self) -> str:
        raise self._error

    __repr__ = __str__

    def __format__(self, form: str) -> str:
        raise self._error

    def __int__(self) -> int:
        raise self._error


_odd = st.builds(_Odd, st.sampled_from([ValueError, KeyError, RecursionError, MemoryError, StopIteration]))
_texts = st.text() | st.text(st.sampled_from("%sd(){}a\ud800\0\n\x1b[31m‮é😀"))
_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _texts | st.binary() | _odd,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3) | st.tuples(inner),
    max_leaves=5,
)
_logger = logging.getLogger("app.anything")
_logger.addHandler(logging.NullHandler())


def _check(captured: Captured) -> None:
    entry = captured.only
    assert isinstance(entry, LogEntry)
    assert len(entry.text.encode("utf-8", "surrogatepass")) <= MAX_TEXT
    assert all(type(text) is str and len(text) <= MAX_TAG for pair in entry.tags for text in pair)


@pytest.mark.gate
@given(_values, st.lists(_values, max_size=4), st.booleans(), st.booleans())
def test_any_message_and_arguments(message: Any, args: list[Any], formatted: bool, safe_mode: bool) -> None:
    with capturing(formatted=formatted, safe_mode=safe_mode) as captured:
        _logger.warning(message, *args)
    _check(captured)


_FIELDS = st.sampled_from(
    ["name", "msg", "args", "levelname", "created", "msecs", "exc_info", "exc_text", "stack_info",
     "threadName", "thread", "tid", "lineno", "other"]
)  # fmt: skip


@pytest.mark.gate
@given(st.dictionaries(_FIELDS, _values, max_size=4), st.booleans())
def test_any_fields_of_a_record(fields: dict[str, Any], formatted: bool) -> None:
    record = logging.makeLogRecord({"levelno": 40, "name": "app", "msg": "m", **fields})
    with capturing(formatted=formatted, layout="%(asctime)s %(lineno)d %(other)s %(message)s") as captured:
        _logger.callHandlers(record)
    assert len(captured.entries) <= 1
    assert captured.entries or "name" in fields


@pytest.mark.gate
@given(_values)
def test_any_event_of_structlog(event: Any) -> None:
    with capturing() as captured:
        assert structlog_processor(object(), "error", event) is event
    _check(captured)


_KNOWN = ("message)", "levelno)", "asctime)", "created)", "tid)", "mine)s")
_PIECES = ["%(message)s", "%(levelno)d", "%(asctime)30s", "%(created).3f", "%(tid)-40s", "%(mine)s", "%%", "(", ")1"]


@pytest.mark.gate
@given(_texts | st.lists(st.sampled_from(_PIECES)).map("".join))
def test_any_layout_is_refused_or_can_be_applied(layout: str) -> None:
    try:
        layout = Config(log_reporter_layout=layout).log_reporter_layout
    except ConfigError:
        return
    with capturing(layout=layout) as captured:
        _logger.warning("m")
    # whether a field that only the application knows is a text or a number shows in its records only
    known = all(piece.startswith(_KNOWN) for piece in layout.replace("%%", "").split("%(")[1:])
    assert not known or "layout not applied" not in captured.only.text
