from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from grpclib.client import Channel

from collector.served import Api, channel_to
from swagent.collector.api import pieces
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
    async with channel_to(collector) as open_channel:
        yield open_channel


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    """The API without a server, of a store that is read in pieces of one row."""
    monkeypatch.setattr(pieces, "_FIRST", 1)
    monkeypatch.setattr(pieces, "_MOST", 1)
    return Api()
