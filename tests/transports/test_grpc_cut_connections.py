"""The connection is cut at every place of a call: whatever the verdict, it is true."""

from __future__ import annotations

import pytest

from support.answers import confirm
from support.client import grpc_client
from support.h2_peer import H2Peer
from support.proxy import Proxy
from swagent.errors import AmbiguousError, RetryableError

pytestmark = pytest.mark.anyio

BATCH = [b"record %d" % number for number in range(5)]


@pytest.mark.parametrize("resets", [True, False], ids=["reset", "end"])
@pytest.mark.parametrize("direction", ["up", "down"])
async def test_cut_at_every_offset(direction: str, resets: bool) -> None:
    with H2Peer(confirm) as peer, Proxy(peer.port) as proxy:
        proxy.resets = resets
        seen = set()
        for offset in offsets(direction):
            setattr(proxy, direction, offset)
            peer.calls.clear()
            async with grpc_client(proxy.address) as client:
                verdict = await client.verdict(*BATCH)
            seen.add(type(verdict))
            if verdict is None:
                assert peer.records == BATCH, f"confirmed after {offset} bytes, and not there"
            elif isinstance(verdict, RetryableError):
                assert peer.records == [], f"called unsent after {offset} bytes, and there"
            else:
                assert isinstance(verdict, AmbiguousError), verdict
        assert {AmbiguousError, type(None)} <= seen


def offsets(direction: str) -> range:
    """Through preface, settings, headers, data and beyond."""
    return range(1, 420, 19) if direction == "up" else range(1, 160, 9)


async def test_next_call_after_each_cut() -> None:
    with H2Peer(confirm) as peer, Proxy(peer.port) as proxy:
        for offset in range(1, 300, 43):
            async with grpc_client(proxy.address) as client:
                proxy.up = offset
                assert isinstance(await client.verdict(*BATCH), AmbiguousError)
                proxy.up = None
                assert await client.verdict(b"whole") is None
        assert peer.records.count(b"whole") == 7
