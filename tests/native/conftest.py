"""Tests of the accelerator itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from native import frozen_clock


@pytest.fixture(scope="session")
def clock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library of the clock that does not move by itself."""
    if not frozen_clock.can_build():
        pytest.skip("the clock needs Linux and a C compiler")
    return frozen_clock.build(tmp_path_factory.mktemp("clock"))
