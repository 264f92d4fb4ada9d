"""The one attempt that each Kafka batch has, in place of aiokafka's own way to retry."""
# ruff: noqa: SLF001

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiokafka.errors import (  # pyright: ignore[reportMissingTypeStubs]
    KafkaError,
    NodeNotReadyError,
    NotLeaderForPartitionError,
)
from aiokafka.producer.sender import SendProduceReqHandler  # pyright: ignore[reportMissingTypeStubs]
from aiokafka.structs import TopicPartition  # pyright: ignore[reportMissingTypeStubs]

_Handler: Any = SendProduceReqHandler
_NO_OFFSET = -1


class NotWrittenError(NodeNotReadyError):  # type: ignore[misc]  # aiokafka has no types
    """A broker that is not, or not yet, the partition's leader has refused the batch."""


class LeaderLostError(KafkaError):  # type: ignore[misc]  # aiokafka has no types
    """The partition lost its leader after the batch was written there: the next leader may or may not have it."""


class Attempt(_Handler):  # type: ignore[misc]
    """Takes batches to the broker that leads their partitions. Whatever happens there is the batches' outcome."""

    async def run(self, node_id: int, batches: Mapping[Any, Any]) -> None:
        """Send and settle the batches; the sender then sends to this broker and to these partitions again."""
        await self.do(node_id)
        self._sender._in_flight.discard(node_id)
        self._sender._muted_partitions.difference_update(batches)

    def handle_response(self, response: Any) -> None:
        # A batch that was written has an offset, even if it then lost its leader and counts as failed. These are told
        # apart here, so that a plain NotLeaderForPartitionError is what aiokafka gives a batch that it never sent.
        for topic, partitions in response.topics:
            for partition, code, offset, *_ in partitions:
                batch = self._batches.get(TopicPartition(topic, partition))
                if batch is not None and code == NotLeaderForPartitionError.errno:
                    kind = NotWrittenError if offset == _NO_OFFSET else LeaderLostError
                    batch.failure(kind(f"the broker does not lead partition {partition} of {topic}"))
        super().handle_response(response)  # pyright: ignore[reportUnknownMemberType]

    def _can_retry(self, error: object, batch: object) -> bool:  # noqa: ARG002
        return False
