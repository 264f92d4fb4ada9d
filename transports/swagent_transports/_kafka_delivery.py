"""One batch of records on its way to one partition of a topic."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any

from aiokafka.errors import (  # pyright: ignore[reportMissingTypeStubs]
    KafkaConnectionError,
    KafkaError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)
from aiokafka.partitioner import DefaultPartitioner  # pyright: ignore[reportMissingTypeStubs]

from swagent.errors import DeliveryError

from ._aiokafka import Producer
from ._kafka_verdicts import answered, together, unsent

Record = tuple[bytes, bytes]
"""Key and value."""

# A topic that is being created needs a moment until the brokers know it.
_LOOKS, _BETWEEN_LOOKS = 6, 0.1
_partition_of_key: Callable[[bytes, Sequence[int], Sequence[int]], int] = DefaultPartitioner()


async def deliver(producer: Producer, topic: str, records: Sequence[Record], *, by_key: bool) -> None:
    """Wait until the brokers have acknowledged all of the records.

    Cancelling leaves it open whether they were sent.

    :param by_key: whether the first record's key chooses the partition; else the partitions take turns
    :raises DeliveryError: the verdict on the records, when they were not acknowledged
    """
    try:
        partition = await _choose(producer, topic, records[0][0] if by_key else None)
    except KafkaError as error:
        raise unsent(error) from error
    verdicts: list[DeliveryError | None] = []
    futures: list[asyncio.Future[Any]] = []
    for batch in _fill(producer, records):
        try:
            futures.append(await producer.send_batch(batch, topic, partition))
        except KafkaError as error:
            verdicts.append(unsent(error))
    if futures:
        await asyncio.wait(futures)
    errors = [future.exception() for future in futures]
    verdict = together(verdicts + [answered(error) if error else None for error in errors])
    if verdict is not None:
        raise verdict


async def _choose(producer: Producer, topic: str, key: bytes | None) -> int:
    """A partition of the topic, one that has a leader if any has.

    :raises KafkaError: when the topic is not there, not for us, or no broker answers
    """
    cluster = producer.client.cluster
    for look in range(_LOOKS):
        found: set[int] = cluster.partitions_for_topic(topic) or set()
        if found:
            break
        if look:
            await asyncio.sleep(_BETWEEN_LOOKS)
        await _ask_for(producer, topic)
    else:
        raise UnknownTopicOrPartitionError(topic)
    if key is not None:
        return _partition_of_key(key, sorted(found), ())
    ready: list[int] = sorted(cluster.available_partitions_for_topic(topic) or found)
    return ready[next(producer.turns) % len(ready)]


async def _ask_for(producer: Producer, topic: str) -> None:
    producer.client.add_topic(topic)
    if not await producer.client.force_metadata_update():
        raise KafkaConnectionError("no broker names its topics")
    if topic in producer.client.cluster.unauthorized_topics:
        raise TopicAuthorizationFailedError(topic)


def _fill(producer: Producer, records: Sequence[Record]) -> list[Any]:
    """Kafka batches with the records in their order: one, unless they are too large for that."""
    now = time.time_ns() // 1_000_000
    batches: list[Any] = []
    for key, value in records:
        if not batches or batches[-1].append(key=key, value=value, timestamp=now) is None:
            batches.append(producer.create_batch())
            # the first record of a batch is always taken, whatever its size
            batches[-1].append(key=key, value=value, timestamp=now)
    return batches
