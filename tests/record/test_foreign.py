"""An exception of foreign code while it is recorded stays with the agent, unless it ends a task or the program."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
import trio

from logs.captured import capturing
from swagent import local_span
from swagent.record.limits import as_text, describe
from swagent.record.meters.series import as_number

from .recorded import Recorder


class Own(BaseException):
    """An exception beside `Exception`, which no `except Exception` keeps."""


class GreenletExit(BaseException):
    """Replaces greenlet's, in a module of that name."""


class _NameRaises(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override]
        raise Own("a class without a name")

    def __getattribute__(cls, name: str) -> Any:
        raise Own(name)


class _NameOfItsOwn(str):
    def __format__(self, spec: str) -> str:
        raise Own("not to be shown")

    __str__ = __repr__ = __format__  # type: ignore[assignment]


def raising(error: BaseException, metaclass: type = type) -> Any:
    def fail(*_: object) -> str:
        raise error

    return metaclass("Foreign", (), {"__str__": fail, "__repr__": fail, "__float__": fail})()


def silent_logger() -> logging.Logger:
    """The standard handler would show the record, and raise what its arguments raise."""
    logger = logging.Logger("foreign")
    logger.addHandler(logging.NullHandler())
    return logger


@pytest.mark.parametrize("error", [Own("x"), ValueError("x"), RecursionError("x")], ids=repr)
@pytest.mark.parametrize("metaclass", [type, _NameRaises])
def test_a_value_without_text_is_shown_by_its_class(error: BaseException, metaclass: type) -> None:
    assert as_text(raising(error, metaclass)) == "<Foreign without text>"
    assert str(as_number(raising(error, metaclass))) == "nan"


def test_a_class_whose_name_has_a_type_of_its_own_is_recorded() -> None:
    value = raising(Own())
    type(value).__name__ = _NameOfItsOwn("Odd")
    text = as_text(value)
    assert (text, type(text)) == ("<Odd without text>", str)


def test_an_exception_that_cannot_be_described_is_recorded_all_the_same(recorder: Recorder) -> None:
    class Failure(Exception, metaclass=_NameRaises):
        pass

    assert describe(Exception.__new__(Failure)) == {"error.kind": "<an exception that cannot be described>"}


@pytest.mark.parametrize("formatted", [True, False])
@pytest.mark.parametrize("message", ["%s", "%d", "none"])
def test_a_log_call_takes_such_values(formatted: bool, message: str) -> None:
    logger = silent_logger()
    with capturing(formatted=formatted) as captured:
        logger.warning(message, raising(Own(), _NameRaises))
        logger.warning(raising(Own()))
    assert len(captured.entries) == 2
    assert captured.entries[1].text.startswith("<Foreign without text>")


@pytest.mark.parametrize("ending", [KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError])
def test_an_exception_that_ends_a_task_or_the_program_passes(ending: type[BaseException], recorder: Recorder) -> None:
    value = raising(ending())
    with pytest.raises(ending):
        as_text(value)
    with pytest.raises(ending):
        as_number(value)
    with pytest.raises(ending):
        local_span("work").start().tag("key", value)
    with capturing(), pytest.raises(ending):
        silent_logger().warning("%s", value)


def test_trios_cancellation_passes() -> None:
    class Waits:
        def __str__(self) -> str:
            return str(trio.from_thread.run(trio.sleep_forever))

    async def ask() -> None:
        with trio.move_on_after(0.01) as scope:
            await trio.to_thread.run_sync(as_text, Waits())
        assert scope.cancelled_caught

    trio.run(ask)


def test_greenlets_own_ending_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    assert as_text(raising(GreenletExit())) == "<Foreign without text>", "any library may have a class of that name"
    monkeypatch.setitem(sys.modules, "greenlet", sys.modules[__name__])
    with pytest.raises(GreenletExit):
        as_text(raising(GreenletExit()))
