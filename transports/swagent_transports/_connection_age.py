"""When a connection is to be made anew, so that a collector that came back gets its share of the agents. Pure: time and
randomness are handed in.

A connection stays where it was made. If its collector is restarted, the agent goes to another one, and nothing would
bring it back: the restarted one would stay empty. Every connection has an age of its own, or all of the agents that
lost a collector together would come again together.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from random import SystemRandom

# neither the application's `random.seed()` nor a fork makes two agents draw the same
JITTER = SystemRandom()
# A connection over which the collector refused us may be made anew after a tenth of the age.
_REFUSED_SHARE = 0.1


class ConnectionAge:
    """The age of one connection after the other.

    :ivar over_at: the time from which the present one is to be made anew
    """

    def __init__(self, most: float, random: Callable[[], float] | None = None) -> None:
        """:param most: seconds; 0: connections are kept
        :param random: gives a number from 0 to 1
        """
        self._most = most
        self._random = random
        self._is_refused = False
        self.over_at = math.inf

    def begin(self, now: float) -> None:
        """A connection was made, or an attempt to make one anew has failed."""
        self._is_refused = False
        self.over_at = now + self._most * (0.5 + 0.5 * self._draw()) if self._most else math.inf

    def refused(self, now: float) -> None:
        """The collector has no room for us. Another one of the same name may have some."""
        # the first refusal draws: the least of many draws would bring all agents back at once
        if self._most and not self._is_refused:
            self._is_refused = True
            self.over_at = min(self.over_at, now + self._most * _REFUSED_SHARE * self._draw())

    def _draw(self) -> float:
        return (self._random or JITTER.random)()
