"""The seed of every random test: always the same, so that a failure is the change's own. The nightly draws a new one.

`TEST_SEED=417 make test` draws what a run drew that named this seed at its end.
"""

from __future__ import annotations

import os

FIXED = 1


def session_seed() -> int:
    """Return the seed that was asked for, else `FIXED`."""
    return int(os.environ.get("TEST_SEED", FIXED))
