"""A recorder, and the bridge in place around each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from record.recorded import Recorder, recording

pytest.importorskip("opentelemetry.trace")


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    with recording() as fresh:
        yield fresh


@pytest.fixture(autouse=True)
def bridge() -> Iterator[None]:
    from swagent.opentelemetry import install, uninstall

    assert install(instrument=False)
    yield
    uninstall()
