from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest
from grpclib.client import Channel

from collector.served import Api, channel_to
from swagent.collector.api import pieces
from swagent.collector.intake.codec import RawCodec
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
async def raw(collector: Collector) -> AsyncIterator[Channel]:
    """A channel for bytes."""
    async with channel_to(collector, codec=RawCodec()) as open_channel:
        yield open_channel


@pytest.fixture
async def over_http() -> AsyncIterator[tuple[Collector, httpx.AsyncClient]]:
    """A collector, and a client of its port of HTTP."""
    async with (
        Collector(http_port=0) as collector,
        httpx.AsyncClient(base_url=f"http://{collector.http_address}", trust_env=False, timeout=30) as client,
    ):
        yield collector, client


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    """The API without a server, of a store that is read in pieces of one row."""
    monkeypatch.setattr(pieces, "_FIRST", 1)
    monkeypatch.setattr(pieces, "_MOST", 1)
    return Api()
