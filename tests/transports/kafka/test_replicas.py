"""Two brokers with a copy each: the one that leads acknowledges only when the other one has the records, too."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack

import anyio
import anyio.to_thread
import pytest
from aiokafka.admin import NewTopic

from e2e.fixtures import make
from faults.covering import covers
from kit.kafka_client import kafka_client
from kit.kafka_cluster import Cluster
from kit.loop_thread import LoopThread
from kit.real.kafka import Kafka
from kit.real.ports import free_ports
from swagent.errors import AmbiguousError, RetryableError
from swagent_proto import wire

pytestmark = [pytest.mark.anyio, pytest.mark.e2e, pytest.mark.timeout(600)]


class Follower(Kafka):
    """A second broker in another one's cluster."""

    def __init__(self, leader: Kafka) -> None:
        (port,) = free_ports(1)
        own = {"process.roles": "broker", "node.id": "2", "listeners": f"PLAINTEXT://127.0.0.1:{port}"}
        super().__init__(port=port, properties={**own, "controller.quorum.voters": f"1@127.0.0.1:{leader.ports[1]}"})
        self.ports = (port,)  # it is no controller


@pytest.fixture(scope="module")
def brokers() -> Iterator[tuple[Kafka, Follower]]:
    """The leader, which is also the controller, and its follower."""
    with ExitStack() as ends:
        leader = ends.enter_context(make(Kafka))
        yield leader, ends.enter_context(make(lambda: Follower(leader)))


def segment(number: int) -> bytes:
    return wire.segment_object("trace", str(number), [], "shop", "shop@host", False)


@covers("F22", "kafka")
async def test_acknowledgements_that_time_out_or_cannot_be_given(
    brokers: tuple[Kafka, Follower], tools: LoopThread
) -> None:
    leader, follower = brokers
    topic = f"copied-{uuid.uuid4().hex[:8]}"
    both = {"replica_assignments": {0: [1, 2]}, "topic_configs": {"min.insync.replicas": "2"}}
    cluster = Cluster(leader, tools)
    await cluster.create(NewTopic(topic, num_partitions=-1, replication_factor=-1, **both))
    async with kafka_client(leader.address, kafka_topic_segment=topic, request_timeout=2.0) as client:
        verdicts = {1: await client.verdict(segment(1))}
        await anyio.to_thread.run_sync(follower.pause)
        # shorter than the three seconds after which the other one is counted out
        verdicts[2] = await client.verdict(segment(2))
        with anyio.fail_after(20):
            while not isinstance(verdicts[max(verdicts)], RetryableError):
                verdicts[max(verdicts) + 1] = await client.verdict(segment(max(verdicts) + 1))
            follower.resume()
            while verdicts[max(verdicts)] is not None:
                verdicts[max(verdicts) + 1] = await client.verdict(segment(max(verdicts) + 1))
    found = Counter(int(key or b"-1") for key, _ in await cluster.records(topic))
    assert verdicts[1] is None
    assert isinstance(verdicts[2], AmbiguousError)
    assert found[2] == 1, "the leader had written what it could not acknowledge"
    assert max(found.values()) == 1
    for number, verdict in verdicts.items():
        assert found[number] or verdict is not None, f"{number} was confirmed"
        assert not found[number] or not isinstance(verdict, RetryableError), f"{number} was said to be unsent"
