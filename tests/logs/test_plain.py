"""A plain record's entry is the same on the fast path and on the full one; what is not plain takes the full one."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swagent.record.logs.conversion import Conversion
from swagent.record.logs.plain import PlainRecords
from swagent.record.logs.settings import LogSettings

LAYOUTS = [
    LogSettings().layout,
    "%(message)s",
    "%(message)s %(message)s",
    "%(levelno)s %(lineno)s %(process)s [%(tid)s] %(message)s",
    "%(asctime)s %(asctime)s",
    "100 %% %(message)s",
    "%(levelname)-8s %(message)s",
    "no field at all",
]
PLAIN = st.one_of(st.text(max_size=20), st.integers(), st.floats(), st.booleans(), st.none())


def record(message: Any, *args: Any, **more: Any) -> logging.LogRecord:
    made = logging.LogRecord("shop", logging.WARNING, "shop.py", 7, message, args, None)
    made.__dict__.update(more)
    return made


def read(conversion: Conversion, made: logging.LogRecord) -> tuple[Any, ...] | None:
    """As a capture does."""
    try:
        return PlainRecords(conversion.layout).read(made, None)
    except Exception:
        return None


@pytest.mark.gate
@given(
    layout=st.sampled_from(LAYOUTS),
    message=st.sampled_from(["fine", "%s", "%d of %s", "%(name)s", "100%", "%5.1f", "%c"]) | st.text(max_size=20),
    args=st.lists(PLAIN, max_size=3),
    logger=st.text(max_size=10),
)
def test_both_paths_give_one_entry(layout: str, message: str, args: list[Any], logger: str) -> None:
    conversion = Conversion(LogSettings(layout=layout))
    made = record(message, *args, name=logger)
    plain = read(conversion, made)
    assert plain is None or conversion.from_plain(plain) == conversion.from_logging(made)


def test_a_usual_record_is_plain() -> None:
    made = record("%d lamps for %s", 3, "globex")
    conversion = Conversion(LogSettings())
    plain = PlainRecords(conversion.layout).read(made, None)
    assert plain is not None
    assert conversion.from_plain(plain).text.endswith("WARNING shop - 3 lamps for globex")


class Foreign(str):
    def __str__(self) -> str:
        raise AssertionError("this is not asked for")

    __format__ = __repr__ = __mod__ = __str__  # type: ignore[assignment]


@pytest.mark.parametrize(
    "made",
    [
        record(Foreign("text")),
        record("%s", Foreign("text")),
        record("%s", object()),
        record("%s %s", 1),
        record("text", exc_info=(ValueError, ValueError("no"), None)),
        record("text", exc_text="Traceback"),
        record("text", stack_info="Stack"),
        record("text", name=Foreign("shop")),
        record("text", args={"a": 1}),
        record("text", threadName=["a list"]),
        record("text", levelname=None, name=None, threadName=Foreign("x")),
    ],
    ids=[f"case {number}" for number in range(11)],
)
def test_a_record_that_may_run_code_of_the_applications_is_not_plain(made: logging.LogRecord) -> None:
    assert read(Conversion(LogSettings()), made) is None


@pytest.mark.parametrize("settings", [LogSettings(safe_mode=True), LogSettings(formatted=False)])
def test_other_forms_take_the_full_path(settings: LogSettings) -> None:
    assert read(Conversion(settings), record("text")) is None
