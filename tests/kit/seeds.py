"""The seed of every random test: always the same, so that a failure is the change's own; a new one in CI.

`TEST_SEED=417 make test` draws what that run drew which said so at its end.
"""

from __future__ import annotations

import os
from random import SystemRandom

FIXED = 1
_NAME = "TEST_SEED"


def session_seed() -> int:
    """The one that was asked for, a new one in CI, else `FIXED`. Processes that are started later draw none again."""
    if _NAME not in os.environ:
        os.environ[_NAME] = str(SystemRandom().randrange(1_000_000) if os.environ.get("CI") else FIXED)
    return int(os.environ[_NAME])
