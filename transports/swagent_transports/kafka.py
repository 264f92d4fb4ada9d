"""Kafka, from where the collector fetches (aiokafka).

The brokers are one cluster and no alternatives. So there is one transport for all of them, and one producer at a time.
A batch goes to one partition as one Kafka batch: the broker takes all of it or nothing, so it has one verdict. The
broker's acknowledgement (`acks=all`) confirms it. The heartbeat is a record, too: once it is acknowledged, the route is
ready.

`_aiokafka` limits what aiokafka retries, waits for and logs by itself. The deadlines are here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import ClassVar

from swagent.abc import Address, Codec, Instance, Runtime
from swagent.config import Config
from swagent.errors import AmbiguousError, RetryableError
from swagent.signals import Signal
from swagent.stop_budgets import TRANSPORT_CALL_END
from swagent_proto import wire

from ._aiokafka import Producer, retrieve
from ._deadline import wait_done
from ._kafka_delivery import Record, deliver
from ._kafka_keys import log_key, meter_key, segment_key
from ._kafka_settings import entry_address, read_settings
from ._kafka_verdicts import outcome, unsent
from ._quiet import own_traffic

_KEYS: dict[Signal, Callable[[bytes], bytes]] = {
    Signal.SEGMENT: segment_key,
    Signal.LOG: log_key,
    Signal.METER: meter_key,
}


class KafkaTransport:
    """Reports to one Kafka cluster."""

    name: ClassVar[str] = "kafka"
    codec: ClassVar[Codec] = "protobuf"
    signals: ClassVar[frozenset[Signal]] = frozenset(_KEYS)
    runtimes: ClassVar[frozenset[Runtime]] = frozenset({"asyncio"})

    @classmethod
    def addresses(cls, config: Config) -> Sequence[Address]:
        """One address for the cluster."""
        return [entry_address(config)]

    def __init__(self, config: Config, address: Address) -> None:
        """:raises ConfigError: when a Kafka setting cannot be used"""
        self._address = address
        self._settings = read_settings(config)
        self._producer: Producer | None = None
        self._calls: set[asyncio.Future[None]] = set()
        self._is_suspect = False
        self._is_closed = False

    async def send(self, signal: Signal, records: Sequence[bytes]) -> None:
        """Deliver a batch to one partition. An instance's meters always go to the same one, which keeps their order."""
        if not records:
            return
        key_of = _KEYS[signal]
        pairs = [(key_of(record), record) for record in records]
        await self._call(self._settings.topics[signal], pairs, by_key=signal is Signal.METER)

    async def report_properties(self, instance: Instance) -> None:
        """Report the instance to the collector."""
        message = wire.instance_properties(instance.service, instance.name, instance.properties, "")
        await self._manage(b"register-" + instance.name.encode(), message)

    async def keep_alive(self, instance: Instance) -> None:
        """Report to the collector that the instance lives."""
        await self._manage(instance.name.encode(), wire.instance_ping_pkg(instance.service, instance.name, ""))

    async def aclose(self) -> None:
        """Abort every connection."""
        self._is_closed = True
        producer = self._producer
        with own_traffic():
            self._drop()
            if producer is not None:
                await producer.wait_gone(TRANSPORT_CALL_END)

    async def _manage(self, key: bytes, message: bytes) -> None:
        await self._call(self._settings.management_topic, [(key, message)], by_key=True)

    async def _call(self, topic: str, records: Sequence[Record], *, by_key: bool) -> None:
        """Deliver within the timeout, in a task of its own: so whatever hangs in there can be left behind."""
        with own_traffic():
            self._settle(await self._finish(topic, records, by_key))

    async def _finish(self, topic: str, records: Sequence[Record], by_key: bool) -> asyncio.Future[None]:
        task = asyncio.ensure_future(self._attempt(topic, records, by_key))
        task.add_done_callback(retrieve)
        self._calls.add(task)
        try:
            await wait_done(task, self._settings.timeout)
            if not task.done():
                # ends every batch with what is known of it, this one too
                self._drop()
                await asyncio.wait({task}, timeout=TRANSPORT_CALL_END)
        finally:
            self._calls.discard(task)
            if not task.done():
                task.cancel()
        return task

    async def _attempt(self, topic: str, records: Sequence[Record], by_key: bool) -> None:
        # checked in here: otherwise a call that had no turn yet when the transport was closed would connect again
        if self._is_closed:
            raise RetryableError("the transport is closed")
        try:
            producer = await self._connected()
        except Exception as error:
            raise unsent(error) from error
        await deliver(producer, topic, records, by_key=by_key)

    async def _connected(self) -> Producer:
        if self._producer is not None and self._producer.is_broken:
            self._drop()
        producer = self._producer
        if producer is None:
            settings = self._settings
            producer = self._producer = Producer(settings.arguments, settings.connection, settings.servers)
        try:
            await producer.wait_started()
        except Exception:
            if self._producer is producer:
                self._drop()
            raise
        return producer

    def _settle(self, task: asyncio.Future[None]) -> None:
        """Raise the call's verdict. After trouble the last call that uses the producer drops it. The next call enters
        the cluster anew, and so finds brokers that have moved."""
        error = outcome(task, self._settings.timeout)
        self._is_suspect = self._is_suspect or isinstance(error, (RetryableError, AmbiguousError))
        if self._is_suspect and not self._calls:
            self._drop()
        if error is not None:
            raise error

    def _drop(self) -> None:
        producer, self._producer = self._producer, None
        self._is_suspect = False
        if producer is not None:
            producer.abandon()

    def __str__(self) -> str:
        return f"kafka{'s' if self._address.tls else ''}://{','.join(self._settings.servers)}"
