"""Measuring how long something takes, and wrapping functions so that their calls are measured or counted."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Literal, ParamSpec, TypeVar, cast

from typing_extensions import Self

P = ParamSpec("P")
R = TypeVar("R")

Unit = Literal["s", "ms"]
_PER_SECOND = {"s": 1.0, "ms": 1000.0}


class Timer:
    """A context manager that measures how long its body took, whether it ended well or raised."""

    __slots__ = ("_factor", "_record", "_started")

    def __init__(self, record: Callable[[float], None], unit: Unit) -> None:
        """
        :param record: takes the time; must not raise
        :raises ValueError: for a unit that is neither `s` nor `ms`
        """
        self._record = record
        self._factor = _factor_of(unit)
        self._started = 0.0

    def __enter__(self) -> Self:
        self._started = time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._record((time.perf_counter() - self._started) * self._factor)


def timed(function: Callable[P, R], record: Callable[[float], None], unit: Unit) -> Callable[P, R]:
    """The function, wrapped so that the time of each call is measured. A coroutine function's call lasts as long as it
    is awaited.

    :raises TypeError: for a generator function, whose call takes no time
    """
    _factor_of(unit)  # raises now rather than in the first call
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError("the call of a generator function cannot be timed: use timer() inside")
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def timed_coroutine(*args: object, **kwargs: object) -> Any:
            with Timer(record, unit):
                return await cast("Callable[..., Awaitable[Any]]", function)(*args, **kwargs)

        return cast("Callable[P, R]", timed_coroutine)

    @functools.wraps(function)
    def timed_call(*args: P.args, **kwargs: P.kwargs) -> R:
        with Timer(record, unit):
            return function(*args, **kwargs)

    return timed_call


def counted(function: Callable[P, R], record: Callable[[], None]) -> Callable[P, R]:
    """The function, wrapped so that each call is counted when it begins. A coroutine function's call begins when it is
    awaited."""
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def counted_coroutine(*args: object, **kwargs: object) -> Any:
            record()
            return await cast("Callable[..., Awaitable[Any]]", function)(*args, **kwargs)

        return cast("Callable[P, R]", counted_coroutine)

    @functools.wraps(function)
    def counted_call(*args: P.args, **kwargs: P.kwargs) -> R:
        record()
        return function(*args, **kwargs)

    return counted_call


def _factor_of(unit: Unit) -> float:
    if unit not in _PER_SECOND:
        raise ValueError(f"the unit of a time is 's' or 'ms', not {unit!r}")
    return _PER_SECOND[unit]
