from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit.servers import collector_thread
from swagent.collector.server import Collector


@pytest.fixture
def collector() -> Iterator[Collector]:
    """An embedded collector in a thread."""
    with collector_thread() as (collector, _):
        yield collector
