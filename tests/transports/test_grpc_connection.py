"""One connection, many batches: how it is dialled, and how the wire is used."""

from __future__ import annotations

import random
from threading import Event as ThreadEvent

import pytest

from kit import answers
from kit.answers import confirm
from kit.each import grpc_client
from kit.h2_peer import Call, H2Peer
from swagent.abc import Instance
from swagent_proto import messages

pytestmark = pytest.mark.anyio


def batch(count: int, size: int, seed: int = 1) -> list[bytes]:
    source = random.Random(seed)
    return [source.randbytes(source.randrange(size)) for _ in range(count)]


async def test_batch_is_one_stream_and_as_few_frames_as_fit() -> None:
    with H2Peer(confirm) as peer:
        async with grpc_client(peer.address) as client:
            await client.send(*[b"r" * 70] * 100)
            await client.send(b"")
        first_call, second_call = peer.calls
        assert (first_call.data_frames, len(first_call.messages)) == (1, 100)
        assert (second_call.data_frames, second_call.messages) == (1, [b""])


async def test_headers_are_those_of_grpc() -> None:
    with H2Peer(confirm) as peer:
        async with grpc_client(peer.address, authentication="sesame") as client:
            await client.send()
        headers = peer.calls[0].headers
    assert headers[b":method"] == b"POST"
    assert headers[b":scheme"] == b"http"
    assert headers[b":path"] == b"/skywalking.v3.TraceSegmentReportService/collect"
    assert headers[b":authority"] == peer.address.encode()
    assert headers[b"te"] == b"trailers"
    assert headers[b"content-type"] == b"application/grpc"
    assert headers[b"authentication"] == b"sesame"


async def test_management_calls() -> None:
    instance = Instance("shop", "shop-1", (("language", "python"),))
    with H2Peer(confirm) as peer:
        async with grpc_client(peer.address) as client:
            await client.run(client.transport.report_properties, instance)
            await client.run(client.transport.keep_alive, instance)
        found, beat = peer.calls
    assert found.headers[b":path"] == b"/skywalking.v3.ManagementService/reportInstanceProperties"
    assert beat.headers[b":path"] == b"/skywalking.v3.ManagementService/keepAlive"
    properties = messages.InstanceProperties().parse(found.messages[0])
    assert (properties.service, properties.service_instance) == ("shop", "shop-1")
    assert [(pair.key, pair.value) for pair in properties.properties] == [("language", "python")]
    assert messages.InstancePingPkg().parse(beat.messages[0]).service_instance == "shop-1"


async def test_many_batches_share_one_connection_at_the_same_time() -> None:
    everyone_is_here = ThreadEvent()

    async def wait_for_all(call: Call) -> None:
        if len(peer.calls) == 50:
            everyone_is_here.set()
        while not everyone_is_here.is_set():
            await answers.late(0.005)(call)
        await confirm(call)

    with H2Peer(wait_for_all) as peer:
        async with grpc_client(peer.address) as client:
            assert await client.verdicts(50) == [None] * 50
        assert len(peer.links) == 1
        assert sorted(peer.records) == sorted(b"record %d" % number for number in range(50))


@pytest.mark.parametrize("size", [0, 1], ids=["whole", "sliced"])
async def test_batch_beyond_every_window_arrives_byte_for_byte(size: int) -> None:
    records = batch(40, 150_000)
    assert sum(map(len, records)) > 2.5 * 2**20
    with H2Peer(confirm, slice=size * 7) as peer:
        async with grpc_client(peer.address, request_timeout=10) as client:
            await client.send(*records)
        assert peer.calls[0].messages == records
