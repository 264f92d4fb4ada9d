"""The fate of a batch after an attempt. Pure.

verdict       at_most_once            at_least_once
confirmed     confirmed               confirmed
unsent        back to the channel     back to the channel
ambiguous     dropped, counted        sent again, within attempts, time and budget; then dropped
rejected      dropped, counted        dropped, counted
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import NamedTuple

from ..errors import AmbiguousError, DeliveryError, RejectedError, RetryableError


class Step(enum.Enum):
    """The step to take with the lease."""

    RELEASE = enum.auto()
    REPEAT = enum.auto()
    DROP_AMBIGUOUS = enum.auto()
    DROP_REJECTED = enum.auto()


@dataclass
class RetryBudget:
    """Keeps repeats to a share of the successes, so that a struggling collector is not buried in them (gRFC A6)."""

    most: float = 10.0
    ratio: float = 0.1
    tokens: float = 10.0

    def earn(self) -> None:
        """A batch was confirmed."""
        self.tokens = min(self.most, self.tokens + self.ratio)

    def spend(self) -> bool:
        """Whether one repeat more is affordable; it is paid for if so."""
        if self.tokens < 1.0:
            return False
        self.tokens -= 1.0
        return True


class Policy(NamedTuple):
    """How hard to try for a batch."""

    at_least_once: bool = False
    max_attempts: int = 3
    max_seconds: float = 60.0

    def decide(self, error: DeliveryError, attempt: int, seconds: float, budget: RetryBudget) -> Step:
        """:param attempt: the number of the attempt that failed, from 1
        :param seconds: how long the batch has been tried
        """
        if isinstance(error, RejectedError):
            return Step.DROP_REJECTED
        if isinstance(error, RetryableError) and attempt == 1:
            return Step.RELEASE
        if not self.at_least_once or attempt >= self.max_attempts or seconds >= self.max_seconds:
            return Step.DROP_AMBIGUOUS
        if isinstance(error, (AmbiguousError, RetryableError)) and budget.spend():
            return Step.REPEAT
        return Step.DROP_AMBIGUOUS
