"""`trace`: budgets for what a test makes an application do."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from .budget_error import BudgetError
from .budgets import Budget, Recorded, max_awaiting_ms, max_blocked_ms, max_queries, no_failed, no_n_plus_one, nothing
from .recorder import LEAST_BLOCKED_MS, Recorder

_LEAST_REPEATS = 3


class Trace:
    """What was recorded in a test, or in a part of it, and the budgets for that.

    A budget is judged at once, by what has been recorded so far, and again at the end of the test or the part. So it
    may be set before and after the work. A segment is recorded when its request, or its outermost span, has ended.
    """

    def __init__(self, recorder: Recorder, name: str) -> None:
        """:param name: of the test"""
        self._recorder = recorder
        self._name = name
        self._begin = recorder.mark()
        self._end: tuple[int, int] | None = None
        self._last: tuple[tuple[int, int], Recorded] | None = None
        self._budgets: list[Budget] = []
        self._needs_records = False

    def max_queries(self, most: int) -> None:
        """At most so many calls of databases.

        :raises BudgetError: when there were more
        """
        __tracebackhide__ = True
        self._set(max_queries(int(_checked(most, 0))), needs_records=most > 0)

    def no_n_plus_one(self, least: int = 10) -> None:
        """No call of the same statement, or endpoint, so often below one span, one after the other.

        :param least: so many are one
        :raises BudgetError: when there was one
        """
        __tracebackhide__ = True
        self._set(no_n_plus_one(int(_checked(least, _LEAST_REPEATS))))

    def max_blocked_ms(self, most: float) -> None:
        """No event loop held for longer. A hold is seen when the loop has turned again: at the latest at the end of the
        test.

        :param most: milliseconds; shorter holds than 25 are not seen
        :raises BudgetError: when one was
        """
        __tracebackhide__ = True
        self._set(max_blocked_ms(_checked(most, LEAST_BLOCKED_MS)))

    def max_awaiting_ms(self, most: float) -> None:
        """No request that awaited something for longer in all.

        :param most: milliseconds
        :raises BudgetError: when one did, or when no request says how long it did
        """
        __tracebackhide__ = True
        self._set(max_awaiting_ms(_checked(most, 0)))

    def no_failed(self) -> None:
        """No request and no call that failed.

        :raises BudgetError: when one did
        """
        __tracebackhide__ = True
        self._set(no_failed())

    @contextmanager
    def watch(self) -> Generator[Trace, None, None]:
        """A part of the test, with budgets of its own: `with trace.watch() as part`. It may be asked afterwards, too.

        :raises BudgetError: at the end of the block, when a budget that was set in it was exceeded
        """
        __tracebackhide__ = True
        part = Trace(self._recorder, self._name)
        yield part
        part._end = self._recorder.mark()
        part.judge()

    @property
    def recorded(self) -> Recorded:
        """The records so far."""
        end = self._end or self._recorder.mark()
        if self._last is None or self._last[0] != end:
            self._last = end, self._recorder.recorded(self._name, self._begin, end)
        return self._last[1]

    def finish(self) -> None:
        """Judge all at the end of the test.

        :raises BudgetError: when a budget was exceeded, or nothing was recorded that could have done so
        """
        self._end = self._recorder.finish()
        self.judge()

    def judge(self) -> None:
        """Judge all budgets once more.

        :raises BudgetError: see `finish`
        """
        __tracebackhide__ = True
        recorded = self.recorded
        if self._needs_records and recorded.is_empty:
            raise BudgetError(nothing(self._name))
        for budget in self._budgets:
            _judge(budget, recorded)

    def _set(self, budget: Budget, *, needs_records: bool = True) -> None:
        __tracebackhide__ = True
        _judge(budget, self.recorded)
        # not one that was exceeded: the test knows of it
        self._budgets.append(budget)
        self._needs_records |= needs_records


def _judge(budget: Budget, recorded: Recorded) -> None:
    __tracebackhide__ = True
    message = budget(recorded)
    if message is not None:
        raise BudgetError(message)


def _checked(value: float, least: int) -> float:
    __tracebackhide__ = True
    if value < least:
        raise ValueError(f"{value:g} is less than {least}")
    return value
