"""A recorder with the settings of a fresh agent; `recording(...)` makes others."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .recorded import Recorder, recording


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    with recording() as fresh:
        yield fresh
