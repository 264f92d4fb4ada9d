"""The text of a record: by the layout or raw, with its exception, within bounds."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

import pytest

from swagent.abc import Codec
from swagent.config import Config
from swagent.pipeline.encoder import Encoder
from swagent.record.logs.entry import MAX_ALL_TAGS, MAX_TAG, MAX_TEXT
from swagent.record.logs.settings import LogSettings
from swagent.signals import Signal, bounds_of

from .captured import Captured, capturing

if sys.version_info < (3, 11):
    from exceptiongroup import ExceptionGroup


def _fail(depth: int = 1) -> None:
    if depth > 1:
        _fail(depth - 1)
    raise ValueError("no nails")


def _log_failure(logger: logging.Logger, depth: int = 1) -> None:
    try:
        _fail(depth)
    except ValueError:
        logger.exception("failed %d", 1)


def test_the_layout_is_filled_in_as_logging_does(logger: logging.Logger) -> None:
    layout = LogSettings().layout + " %(lineno)d %(process)d %(module)s %(created)f"
    handler = logging.Handler()
    lines: list[str] = []
    handler.emit = lambda record: lines.append(logging.Formatter(layout).format(record))  # type: ignore[method-assign]
    logger.addHandler(handler)
    with capturing(layout=layout) as captured:
        for number in range(3):
            logger.warning("message %d", number)
    assert captured.texts == lines
    assert len(lines) == 3


def test_a_record_is_not_changed(captured: Captured, logger: logging.Logger) -> None:
    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[method-assign, assignment]
    logger.addHandler(handler)
    with capturing(layout=LogSettings().layout):
        _log_failure(logger)
    (record,) = records
    assert not {"message", "asctime"} & record.__dict__.keys()
    assert record.exc_text is None


@pytest.mark.parametrize(
    ("layout", "extra", "text"),
    [
        ("%(user)s %(tid)s %(message)s", {"user": "x"}, "x N/A a"),
        ("%(user)s %(tid)s %(message)s", {}, "N/A N/A a"),
        ("%(count)d %(message)s", {"count": "many"}, "a …[layout not applied: TypeError]"),
    ],
)
def test_the_layout_may_ask_for_what_a_record_has_not(
    logger: logging.Logger, layout: str, extra: dict[str, str], text: str
) -> None:
    with capturing(layout=layout) as captured:
        logger.warning("a", extra=extra)
    assert captured.texts == [text]


def test_a_raw_record_has_its_arguments_and_exception_as_tags(logger: logging.Logger) -> None:
    with capturing(formatted=False, depth=2) as captured:
        try:
            _fail()
        except ValueError:
            logger.exception("%s of %d", "nails", 3)
    assert captured.only.text == "%s of %d"
    assert list(captured.tags) == ["level", "logger", "thread", "exception", "argument.0", "argument.1"]
    assert (captured.tags["argument.0"], captured.tags["argument.1"]) == ("nails", "3")
    assert captured.tags["exception"].endswith("ValueError: no nails")


def test_a_raw_record_may_have_named_arguments_or_none(logger: logging.Logger) -> None:
    with capturing(formatted=False) as captured:
        logger.warning("%(a)s", {"a": 1})
        logger.warning("none")
    named, plain = captured.entries
    assert (dict(named.tags)["argument.0"], len(plain.tags)) == ("{'a': 1}", 3)


# -- exceptions -------------------------------------------------------------------------------------------------------


def test_an_exception_is_recorded_with_its_places_and_no_source(captured: Captured, logger: logging.Logger) -> None:
    _log_failure(logger)
    lines = captured.only.text.split("\n")
    assert lines[:2] == ["failed 1", "Traceback (most recent call last):"]
    assert lines[2].startswith('  File "')
    assert lines[2].endswith("in _log_failure")
    assert lines[3].endswith("in _fail")
    assert lines[4:] == ["ValueError: no nails"]


def test_of_a_deep_stack_the_inner_end_is_kept(logger: logging.Logger) -> None:
    with capturing(depth=3) as captured:
        _log_failure(logger, depth=8)
    lines = captured.only.text.split("\n")
    assert lines[2] == "  …"
    assert [line.rpartition(" ")[2] for line in lines[3:-1]] == ["_fail"] * 3


def test_depth_zero_leaves_out_the_stacks_and_keeps_the_exceptions(logger: logging.Logger) -> None:
    config = Config.from_env({"SW_AGENT_CAUSE_EXCEPTION_DEPTH": "0"})
    with capturing(depth=config.cause_exception_depth) as captured:
        try:
            try:
                _fail(8)
            except ValueError as error:
                raise KeyError("stock") from error
        except KeyError:
            logger.exception("failed")
        logger.error("long", exc_info=_chained(5000))
        logger.error("wide", exc_info=ExceptionGroup("many", [ValueError(number) for number in range(20)]))
    short, long, wide = captured.texts
    reason = "The above exception was the direct cause of the following exception:"
    assert short.split("\n") == ["failed", "ValueError: no nails", "", reason, "", "KeyError: 'stock'"]
    assert long.startswith("long\n…\nValueError: 4990\n")
    assert long.endswith("ValueError: 4999")
    assert wide.count("  | ValueError") == 10


def _chained(length: int) -> Exception:
    error: Exception = KeyError(0)
    for number in range(1, length):
        follower = ValueError(number)
        follower.__cause__ = error
        error = follower
    return error


def test_causes_come_first_and_are_joined_by_words(captured: Captured, logger: logging.Logger) -> None:
    try:
        try:
            _fail()
        except ValueError as error:
            raise KeyError("stock") from error
    except KeyError as error:
        try:
            raise OSError("disk")
        except OSError as last:
            logger.exception("failed")
            error.__suppress_context__, error.__cause__ = True, None
            logger.error("again", exc_info=last)
    whole, suppressed = captured.texts
    parts = ["ValueError: no nails", "direct cause", "KeyError: 'stock'", "During handling", "OSError: disk"]
    assert [whole.index(part) for part in parts] == sorted(whole.index(part) for part in parts)
    assert "no nails" not in suppressed
    assert "KeyError: 'stock'" in suppressed


def test_of_a_long_chain_the_last_exceptions_are_kept(logger: logging.Logger) -> None:
    with capturing(depth=3) as captured:
        logger.error("failed", exc_info=_chained(5000))
    text = captured.only.text
    assert text.count("direct cause") == 2
    assert text.startswith("failed\n…\n")
    assert text.endswith("ValueError: 4999")


def test_exceptions_that_cause_each_other_come_to_an_end(captured: Captured, logger: logging.Logger) -> None:
    error, other = ValueError("a"), ValueError("b")
    error.__cause__, other.__cause__ = other, error
    logger.error("failed", exc_info=error)
    assert captured.only.text.count("ValueError") == 2


def test_a_group_is_written_with_its_members(logger: logging.Logger) -> None:
    inner = ExceptionGroup("inner", [OSError("hidden")])
    group = ExceptionGroup("two", [_chained(2), inner, *(ValueError(n) for n in range(9))])
    inner.__cause__ = group
    with capturing(depth=3) as captured:
        logger.error("failed", exc_info=group)
    lines = captured.only.text.split("\n")
    assert lines[1].endswith("ExceptionGroup: two (11 sub-exceptions)")
    assert "  + 1 of 11:" in lines
    assert "  | ValueError: 1" in lines
    assert lines[-1] == "  + …"
    assert "hidden" not in captured.only.text


@pytest.mark.skipif(sys.version_info < (3, 11), reason="notes came with Python 3.11")
def test_notes_are_recorded(captured: Captured, logger: logging.Logger) -> None:
    error: Any = ValueError("a")
    error.add_note("look into the cellar")
    logger.error("failed", exc_info=error)
    assert captured.only.text.endswith("ValueError: a\n    look into the cellar")


def test_an_exceptions_foreign_ideas_of_itself_do_no_harm(captured: Captured, logger: logging.Logger) -> None:
    class Odd(Exception):
        exceptions = ("not", "exceptions")
        __notes__ = 7  # type: ignore[assignment, unused-ignore]

        def __str__(self) -> str:
            raise RuntimeError

    logger.error("failed", exc_info=Odd())
    assert captured.only.text.endswith("Odd: <Odd without text>")


@pytest.mark.parametrize("exc_info", [None, False, True, (None, None, None), (1, 2), ("a", "b", "c"), 7])
def test_without_an_exception_there_is_none_to_write(captured: Captured, logger: logging.Logger, exc_info: Any) -> None:
    record = logger.makeRecord(logger.name, 40, "f", 1, "failed", (), None)
    record.exc_info = exc_info
    logger.propagate = False
    logger.handle(record)
    assert captured.texts == ["failed"]


def test_an_exception_from_another_process_and_a_stack_are_recorded(captured: Captured, logger: logging.Logger) -> None:
    record = logger.makeRecord(logger.name, 40, "f", 1, "failed", (), None)
    record.exc_text, record.stack_info = "Traceback: theirs", "Stack: here"
    logger.handle(record)
    assert captured.texts == ["failed\nTraceback: theirs\nStack: here"]


# -- bounds -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("letter", ["a", "é", "\U0001f600", "\ud800", "\0", "\n", '"', "\\", "\\u12"])
def test_a_text_has_a_bound_and_the_cut_is_visible(captured: Captured, logger: logging.Logger, letter: str) -> None:
    logger.warning(letter * 1_000_000)
    text = captured.only.text
    assert MAX_TEXT - 100 < len(json.dumps(text)) - 2 <= MAX_TEXT
    assert text == (letter * len(text))[: len(text) - 12] + "…[truncated]"


@pytest.mark.parametrize("letter", ["a", "é", "\U0001f600", "\n"])
def test_a_text_up_to_the_bound_is_whole(captured: Captured, logger: logging.Logger, letter: str) -> None:
    text = letter * (MAX_TEXT // (len(json.dumps(letter)) - 2))
    logger.warning(text)
    assert captured.texts == [text]


def test_tags_have_bounds_each_and_together(logger: logging.Logger) -> None:
    with capturing(formatted=False) as captured:
        logger.warning("%s" * 100, *["é" * 5000] * 100)
    tags = captured.only.tags
    assert all(len(json.dumps(value)) - 2 <= MAX_TAG for _, value in tags)
    assert sum(len(json.dumps(key + value)) - 2 for key, value in tags) <= MAX_ALL_TAGS + 100
    assert tags[-1] == ("truncated", "true")
    assert len(tags) > 10


@pytest.mark.parametrize("codec", ["protobuf", "json"])
@pytest.mark.parametrize("letter", ["a", "é", "\U0001f600", "\ud800", "\0", "\n", '"'])
def test_the_longest_record_fits_the_channel(logger: logging.Logger, codec: Codec, letter: str) -> None:
    logger.name = letter * 5000
    with capturing(formatted=False) as captured:
        logger.warning(letter * 100_000, *[letter * 5000] * 200)
    encoded = Encoder(codec, "s" * 200, "i" * 200).log(captured.only)
    assert len(encoded) <= bounds_of(Signal.LOG, Config()).max_item_bytes


def test_arguments_beyond_128_are_left_out_visibly(logger: logging.Logger) -> None:
    with capturing(formatted=False) as captured:
        logger.warning("many", *range(500))
    assert captured.only.tags[-2:] == [("argument.127", "127"), ("truncated", "true")]


def test_the_reported_text_is_a_plain_one(captured: Captured, logger: logging.Logger) -> None:
    class Text(str):
        __slots__ = ()

        def __len__(self) -> int:
            raise RuntimeError

        def __str__(self) -> str:
            return self

    logger.name = Text(logger.name)
    logger.warning(Text("low"))
    entry = captured.only
    assert {type(entry.text)} | {type(each) for pair in entry.tags for each in pair} == {str}
