"""A script that records one step, and ends as it likes."""

from __future__ import annotations

import sys

import swagent
from swagent.agent import running

assert running() is not None
with swagent.local_span("step"):
    pass
sys.exit(7)
