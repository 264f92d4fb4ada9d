"""Every touch of aiokafka's internals, in one place; `tests/transports/kafka/test_internals.py` fails when they change.

AIOKafkaProducer lacks these things, which an application's process needs:

* It sends a batch again when the connection broke while the answer was outstanding, so the broker may have it twice.
  Here each batch has one attempt, see `_kafka_attempt`. Its deadline in the accumulator is over from the start, so
  that it does not wait for a leader either.
* `start()` hides why it cannot connect, a refused login above all, and leaves its connection behind when it is
  cancelled. Here the first connection is made by us, and put where the client keeps the one that it was
  bootstrapped from.
* The loop's own resolver looks up the brokers' names, in a thread that the loop waits for at its end. Here connections
  to brokers are made like the first one.
* `stop()` waits for brokers that never answer, and no other method drops the connections. Here `abandon()` ends every
  task and connection at once, and every batch with an error that says whether it may have left.
"""
# ruff: noqa: SLF001

from __future__ import annotations

import asyncio
import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from aiokafka import AIOKafkaProducer, client, conn, partitioner  # pyright: ignore[reportMissingTypeStubs]
from aiokafka.client import ConnectionGroup  # pyright: ignore[reportMissingTypeStubs]
from aiokafka.errors import KafkaConnectionError, NodeNotReadyError  # pyright: ignore[reportMissingTypeStubs]

from ._kafka_attempt import Attempt
from ._kafka_entry import connect_to_broker, connect_to_one
from ._quiet import Hush, OwnRandom, own_traffic

# During an outage aiokafka logs each attempt, some of them at level ERROR. The agent logs that itself, once in a while.
HUSH = Hush(
    "aiokafka", "aiokafka.cluster", "aiokafka.conn", "aiokafka.helpers", "aiokafka.producer.producer",
    "aiokafka.producer.sender",
)  # fmt: skip
for _module in (client, conn, partitioner):
    vars(_module)["random"] = OwnRandom()


class Producer:
    """An AIOKafkaProducer that gives each batch one attempt, and can be dropped at any time.

    :ivar client: aiokafka's client of the cluster
    :ivar turns: counts the batches that take turns over partitions
    """

    def __init__(self, arguments: Mapping[str, Any], connection: Mapping[str, Any], servers: Sequence[str]) -> None:
        """Begin to connect. Belongs to the running loop.

        :param arguments: what AIOKafkaProducer takes
        :param connection: what a connection takes of them
        """
        HUSH.begin()
        self._producer: Any = AIOKafkaProducer(
            acks="all", enable_idempotence=False, bootstrap_servers=",".join(servers), **arguments
        )
        # its warning about not being stopped would reach the application's exception handler; `abandon` does what is
        # needed
        self._producer._closed = True
        self._producer._message_accumulator._batch_ttl = -1.0
        self._sender: Any = self._producer._sender
        self._sender._send_produce_req = self._deliver_tracked
        self._deliveries: set[asyncio.Task[Any]] = set()
        self._queues: defaultdict[tuple[str, int], asyncio.Lock] = defaultdict(asyncio.Lock)
        self._connection = connection
        self._timeout_ms: int = arguments["request_timeout_ms"]
        self._is_abandoned = False
        self.client: Any = self._producer.client
        self.client._get_conn = self._connect_to_broker
        self.turns = itertools.count()
        self._starting = asyncio.ensure_future(self._start())
        self._starting.add_done_callback(retrieve)

    @property
    def is_broken(self) -> bool:
        """Whether a task that it cannot do without has ended, as when a server cancels all tasks of the loop."""
        needed = (self._sender.sender_task, self.client._sync_task)
        return self._is_abandoned or any(task is not None and task.done() for task in needed)

    async def wait_started(self) -> None:
        """Wait until it is connected. A waiting task that is cancelled does not disturb the others.

        :raises Exception: why it cannot connect; nothing was sent
        """
        await asyncio.wait({self._starting})
        if self._starting.cancelled():
            raise NodeNotReadyError("the connection attempt was given up")
        self._starting.result()

    def create_batch(self) -> Any:
        """An empty aiokafka BatchBuilder."""
        return self._producer.create_batch()

    async def send_batch(self, batch: Any, topic: str, partition: int) -> asyncio.Future[Any]:
        """Hand a batch over, once the one before it to the same partition is on its way.

        :returns: its outcome; every error but those of `abandon` comes from its one attempt
        :raises KafkaError: it was not taken, and is not sent
        """
        # one at a time: when several batches wait, aiokafka counts the time of each of them several times
        async with self._queues[topic, partition]:
            future: asyncio.Future[Any] = await self._producer.send_batch(batch, topic, partition=partition)
        future.add_done_callback(retrieve)
        return future

    def abandon(self) -> None:
        """Drop it: every connection is aborted, every task is cancelled. Batches that wait end with NodeNotReadyError,
        those under way with KafkaConnectionError. A second call is harmless."""
        was_abandoned, self._is_abandoned = self._is_abandoned, True
        self._fail_batches()
        for connection in tuple(self.client._conns.values()):
            writer = connection._writer
            connection.close()
            if writer is not None:
                # close() alone would first try to write everything to the dead peer
                writer.transport.abort()
        tasks = self._tasks()
        for task in tasks:
            task.cancel()
        if not was_abandoned:
            # until they have ended, they may log
            asyncio.gather(*tasks, return_exceptions=True).add_done_callback(lambda _: HUSH.end())
        update = self.client._md_update_fut
        if update is not None and not update.done():
            update.set_result(False)

    async def wait_gone(self, seconds: float) -> None:
        """Wait until the tasks of an abandoned producer have ended, at most for some seconds."""
        if tasks := self._tasks():
            await asyncio.wait(tasks, timeout=seconds)
        await asyncio.sleep(0)  # for the callbacks of the connections

    async def _start(self) -> None:
        with own_traffic():
            self.client._conns["bootstrap", ConnectionGroup.DEFAULT] = await connect_to_one(
                self.client.hosts, self._timeout_ms, self._connection
            )
            self.client._sync_task = asyncio.ensure_future(self.client._md_synchronizer())
            if not await self.client.force_metadata_update():
                raise KafkaConnectionError("no broker describes the cluster")
            await self._sender.start()

    async def _connect_to_broker(self, node_id: int, *, group: Any = ConnectionGroup.DEFAULT, **_: Any) -> Any:
        return None if self._is_abandoned else await connect_to_broker(self.client, node_id, group, self._connection)

    async def _deliver_tracked(self, node_id: int, batches: Any) -> None:
        if self._is_abandoned:
            return  # the sender had just begun this, and the batches have failed already
        if task := asyncio.current_task():
            self._deliveries.add(task)
            task.add_done_callback(self._deliveries.discard)
        await Attempt(self._sender, batches).run(node_id, batches)

    def _tasks(self) -> set[asyncio.Task[Any]]:
        found = {self._starting, self._sender.sender_task, self.client._sync_task, *self._deliveries}
        return {task for task in found if task is not None and not task.done()}

    def _fail_batches(self) -> None:
        accumulator = self._producer._message_accumulator
        accumulator._closed = True
        for batch in itertools.chain(*accumulator._batches.values()):
            batch.failure(NodeNotReadyError("the client was given up before this was sent"))
            retrieve(batch._drain_waiter)
        for batch in tuple(accumulator._pending_batches):
            batch.failure(KafkaConnectionError("the client was given up"))


def retrieve(future: asyncio.Future[Any]) -> None:
    """Look at the outcome of a future that perhaps no task awaits, or asyncio reports it to the application."""
    if not future.cancelled():
        future.exception()
