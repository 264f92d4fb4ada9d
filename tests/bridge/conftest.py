"""A recorder, and the bridge in place around each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from record.recorded import Recorder, recording
from swagent.opentelemetry import install, uninstall


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    with recording() as fresh:
        yield fresh


@pytest.fixture(autouse=True)
def bridge() -> Iterator[None]:
    assert install(instrument=False)
    yield
    uninstall()
