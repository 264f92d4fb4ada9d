from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from grpclib.client import Channel

from swagent.collector.server import Collector


@pytest.fixture
def anyio_backend() -> str:
    """The collector is asyncio only."""
    return "asyncio"


@pytest.fixture
async def collector() -> AsyncIterator[Collector]:
    async with Collector() as running:
        yield running


@pytest.fixture
async def channel(collector: Collector) -> AsyncIterator[Channel]:
    host, port = collector.address.rsplit(":", 1)
    async with Channel(host, int(port)) as open_channel:
        yield open_channel
