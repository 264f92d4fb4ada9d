"""A recorder for the API in this process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from record.recorded import Recorder, recording


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    with recording() as fresh:
        yield fresh
