"""The connection is cut at every place of a call: whatever the verdict, it is true."""

from __future__ import annotations

from collections import Counter

import pytest

from faults.covering import covers
from kit.answers import confirm
from kit.client import grpc_client
from kit.h2_peer import H2Peer
from kit.proxy import Proxy
from swagent.errors import AmbiguousError, RetryableError

pytestmark = pytest.mark.anyio


@pytest.mark.slow
@covers("F07", "grpc")
@pytest.mark.parametrize("resets", [True, False], ids=["reset", "end"])
@pytest.mark.parametrize("direction", ["up", "down"])
async def test_cut_at_every_offset(direction: str, resets: bool) -> None:
    verdicts = {}
    with H2Peer(confirm) as peer, Proxy(peer.port) as proxy:
        proxy.ending = "reset" if resets else "end"
        async with grpc_client(proxy.address) as client:
            for offset in offsets(direction):
                getattr(proxy, direction).limit = offset
                verdicts[offset] = await client.verdict(*batch(offset))
                # so that the next one begins with a new connection, too
                await proxy.thread.call(proxy.sever)
        arrived = Counter(peer.records)
    assert set(arrived.values()) == {1}, "nothing came twice"
    for offset, verdict in verdicts.items():
        found = [record in arrived for record in batch(offset)]
        if verdict is None:
            assert all(found), f"cut off after {offset} bytes: confirmed, and not there"
        elif isinstance(verdict, RetryableError):
            assert not any(found), f"cut off after {offset} bytes: called unsent, and there"
        else:
            assert isinstance(verdict, AmbiguousError), verdict
    assert {AmbiguousError, type(None)} <= {type(each) for each in verdicts.values()}


def batch(offset: int) -> list[bytes]:
    """Other bytes than those that were sent before, and as many."""
    return [b"%03d: %d" % (offset, number) for number in range(5)]


def offsets(direction: str) -> range:
    """Through preface, settings, headers, data and beyond."""
    return range(420) if direction == "up" else range(160)
