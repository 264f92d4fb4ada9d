"""The commands that show swagent under stress: `python -m stress` lists them. They need the tests' dependencies."""

from __future__ import annotations

import sys
from pathlib import Path

# The tests' servers, peers and proxy are used here too. They are no distribution: their folder is a root of imports.
sys.path.append(str(Path(__file__).parents[1] / "tests"))
