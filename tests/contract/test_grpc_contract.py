"""The gRPC transport keeps the promises of every transport, towards the embedded collector and towards bare HTTP/2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from grpclib.const import Status

from kit import answers
from kit.h2_peer import Behaviour, H2Peer
from kit.loop_thread import LoopThread
from kit.servers import Parrot, Startable
from swagent.abc import Transport
from swagent.collector.server import Collector
from swagent.collector.store.trace_records import Segment
from swagent.config import Config
from swagent.errors import AmbiguousError, RetryableError
from swagent.runtime.transport_runner import transport_runner
from swagent.signals import Signal
from swagent.testing import Peer, check_transport
from swagent_proto import messages
from swagent_transports.grpc import GrpcTransport

pytestmark = pytest.mark.anyio


def sample(number: int) -> bytes:
    """The n-th segment: what the collector's store gives back whole."""
    return encoded(Segment(f"trace-{number}", f"segment-{number}", "shop", "shop-1", ()))


def encoded(segment: Segment) -> bytes:
    message = messages.SegmentObject(
        trace_id=segment.trace_id,
        trace_segment_id=segment.segment_id,
        service=segment.service,
        service_instance=segment.instance,
    )
    return bytes(message)


class CollectorPeer:
    """The embedded collector: refuses by its token, and gives way to a silent server, or to none."""

    def __init__(self, thread: LoopThread) -> None:
        self._thread = thread
        self._collector = Collector()
        self._thread.run(self._collector.start)
        self._now: Startable = self._collector

    @property
    def _port(self) -> int:
        return int(self._collector.address.rpartition(":")[2])

    def connect(self) -> Transport:
        config = Config(service="checked", collector=self._collector.address, request_timeout=1.0)
        return GrpcTransport(config, config.addresses[0])

    async def serve(self) -> None:
        await self._change(self._collector)

    async def refuse(self) -> None:
        await self._change(Collector(port=self._port, token="sesame"))

    async def hang(self) -> None:
        silent = Parrot()
        silent._port = self._port
        await self._change(silent)

    async def vanish(self) -> None:
        await self._thread.call(self._now.stop)

    async def received(self, signal: Signal) -> Sequence[bytes]:
        assert signal is Signal.SEGMENT
        return [encoded(segment) for segment in self._collector.store.segments]

    async def _change(self, server: Startable) -> None:
        await self._thread.call(self._now.stop)
        await self._thread.call(server.start)
        self._now = server

    def close(self) -> None:
        self._thread.run(self._now.stop)


class BarePeer:
    """An HTTP/2 server that answers as ordered, and shows the very bytes that came."""

    def __init__(self, server: H2Peer) -> None:
        self._server = server
        self._is_up = True

    def connect(self) -> Transport:
        config = Config(service="checked", collector=self._server.address, request_timeout=1.0)
        return GrpcTransport(config, config.addresses[0])

    async def serve(self) -> None:
        await self._behave(answers.confirm)

    async def refuse(self) -> None:
        await self._behave(answers.trailers_only(Status.UNAUTHENTICATED))

    async def hang(self) -> None:
        await self._behave(answers.silent)

    async def vanish(self) -> None:
        await self._server.thread.call(self._server.stop)
        self._is_up = False

    async def received(self, signal: Signal) -> Sequence[bytes]:
        paths = {Signal.SEGMENT: b"/skywalking.v3.TraceSegmentReportService/collect"}
        calls = [call for call in self._server.calls if call.headers[b":path"] == paths[signal]]
        return [record for call in calls for record in call.messages]

    async def _behave(self, behaviour: Behaviour) -> None:
        self._server.behave = behaviour
        if not self._is_up:
            await self._server.thread.call(self._server.start)
            self._is_up = True


@pytest.fixture(params=["collector", "bare"])
def peer(request: pytest.FixtureRequest) -> Iterator[Peer]:
    if request.param == "bare":
        with H2Peer(answers.confirm) as server:
            yield BarePeer(server)
        return
    with LoopThread() as thread:
        collector = CollectorPeer(thread)
        yield collector
        collector.close()


async def test_grpc_keeps_the_contract(peer: Peer) -> None:
    async with transport_runner(GrpcTransport.runtimes) as run:
        await check_transport(peer, sample, run)


async def test_h2_silence_is_survived(peer: Peer) -> None:
    """The suite's `hang` twice in a row, so that the second call meets what the first one left. A peer that has not
    even greeted got nothing of the batch."""
    await peer.hang()
    transport = peer.connect()
    async with transport_runner(GrpcTransport.runtimes) as run:
        for _ in range(2):
            with pytest.raises((AmbiguousError, RetryableError), match="no answer within"):
                await run(transport.send, Signal.SEGMENT, [sample(1)])
        await peer.serve()
        await run(transport.send, Signal.SEGMENT, [sample(2)])
        assert sample(2) in await peer.received(Signal.SEGMENT)
        await run(transport.aclose)
