"""The Kafka transport keeps the promises of every transport, with a real broker on the other side."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import pytest

from e2e.fixtures import make
from kit.kafka_cluster import Cluster
from kit.loop_thread import LoopThread
from kit.real.kafka import Kafka
from swagent.config import Config
from swagent.runtime.transport_runner import transport_runner
from swagent.signals import Signal
from swagent.testing import check_transport
from swagent_proto import wire
from swagent_transports.kafka import KafkaTransport

pytestmark = [pytest.mark.anyio, pytest.mark.e2e, pytest.mark.timeout(600)]


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    """A broker of the test's own, since it is killed, that is up and has topics."""
    with make(Kafka) as kafka, LoopThread() as tools:
        cluster = Cluster(kafka, tools)
        await cluster.serve()
        await cluster.create_topics()
        yield cluster
        cluster.resume()


class BrokerPeer:
    """A broker, in each of the states that `check_transport` asks for. What a broker can refuse are records, so
    `refuse` lets it find every one too large."""

    def __init__(self, kafka: Cluster) -> None:
        self._cluster = kafka
        self._segments = kafka.topic("segments")

    def connect(self) -> KafkaTransport:
        config = Config(
            service="checked",
            kafka_bootstrap_servers=(self._cluster.address,),
            kafka_namespace=self._cluster.namespace,
            request_timeout=1.0,
        )
        (address,) = KafkaTransport.addresses(config)
        return KafkaTransport(config, address)

    async def serve(self) -> None:
        await self._cluster.serve()
        await self._cluster.limit(self._segments, None)

    async def refuse(self) -> None:
        await self._cluster.serve()
        await self._cluster.limit(self._segments, 10)

    async def hang(self) -> None:
        await self._cluster.serve()
        await self._cluster.pause()

    async def vanish(self) -> None:
        await self._cluster.vanish()

    async def received(self, signal: Signal) -> Sequence[bytes]:
        assert signal is Signal.SEGMENT
        return [value for _, value in await self._cluster.records(self._segments)]


def sample(number: int) -> bytes:
    return wire.segment_object(f"trace-{number}", f"segment-{number}", [], "checked", "instance-1", False)


async def test_contract(cluster: Cluster) -> None:
    async with transport_runner(KafkaTransport.runtimes) as run:
        await check_transport(BrokerPeer(cluster), sample, run)
