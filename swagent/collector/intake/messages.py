"""From a message, by its name in the protocol, to records in the store: the part that gRPC, HTTP and Kafka share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import anyio.lowlevel
import anyio.to_thread

from ..store import records
from ..store.protocol import described, malformed, parse
from ..store.segment_index import index, index_bytes
from ..store.store import Store
from ..store.wire_check import LENGTH
from ..store.wire_pieces import PIECE, SMALL, Field, check_parts, fields
from . import translation
from .commands import profile_commands

_RECORDS: Mapping[str, Callable[[Any], records.Record]] = {
    "LogData": translation.log_of,
    "Event": translation.event_of,
    "InstanceProperties": translation.properties_of,
    "InstancePingPkg": translation.keep_alive_of,
    "ThreadSnapshot": translation.snapshot_of,
    "ProfileTaskFinishReport": translation.profile_finish_of,
    "GoProfileData": translation.profile_data_of,
    "SpanAttachedEvent": translation.attached_event_of,
}
# of what a collection is made, in its field 1
_COLLECTIONS = {"SegmentCollection": "SegmentObject", "MeterDataCollection": "MeterData"}


AT_ONCE = 50
"""Messages that are taken before the loop runs: about a millisecond, if they are small."""


class Intake:
    """Takes the messages of one call, one request or one partition into a store.

    Meters of one call are one input set, of which only the first must name service, instance and time.

    :ivar answer: the answer to the sender: commands, or empty, as it is nearly always
    """

    def __init__(self, store: Store, parsing: anyio.CapacityLimiter) -> None:
        """:param parsing: for the thread that parses large messages"""
        self._store = store
        self._parsing = parsing
        self._losses = store.losses
        self._first_meter: Any = None
        self._count = 0
        self.answer = b""

    async def take_all(self, name: str, messages: Iterable[bytes]) -> None:
        """Take in messages of one kind; the loop runs in between.

        :raises ValueError: when one is malformed; the messages before it are taken
        :raises StoreError: when the store cannot be written
        """
        for data in messages:
            await self.take(name, data)

    async def take(self, name: str, data: bytes) -> None:
        """Take a message's bytes in, however many they are: a large message is parsed in a thread. The loop runs now
        and then.

        :param name: of the message's kind, without the package
        :raises ValueError: when they are not a well-formed message of this kind
        :raises StoreError: when the store cannot be written
        """
        if name in _COLLECTIONS:
            self._first_meter = None  # each collection is a set of its own
            with malformed(name):
                for element in fields(data):
                    await self._take_element(name, data, element)
        elif len(data) <= SMALL:
            self._put(name, _parse(name, data))
        else:
            self._put(name, await anyio.to_thread.run_sync(_parse_large, name, data, limiter=self._parsing))
        self._count += 1
        if not self._count % AT_ONCE:
            await anyio.lowlevel.checkpoint()

    async def _take_element(self, name: str, data: bytes, element: Field) -> None:
        if element.number != 1:
            return
        if element.wire_type != LENGTH:
            raise ValueError(f"field 1 of {name} has wire type {element.wire_type}")
        await self.take(_COLLECTIONS[name], data[element.start : element.end])

    def _put(self, name: str, message: Any) -> None:
        if name == "SegmentObject":
            self._store.add_segment(message)
        elif name == "MeterData":
            self._first_meter = self._first_meter or message
            self._store.add(translation.meter_of(message, self._first_meter))
        elif name == "ProfileTaskCommandQuery":
            self.answer = profile_commands(self._store, message)
        elif name != "ConfigurationSyncRequest":
            self._store.add(_RECORDS[name](message))

    def commit(self) -> None:
        """Make all that was taken last; only then may it be acknowledged.

        :raises StoreError: when something of it could not be written
        """
        self._store.commit()
        self._store.check(self._losses)

    def set_offset(self, brokers: str, topic: str, partition: int, offset: int) -> None:
        """Note up to where a partition of Kafka was taken.

        :raises StoreError: when something of it could not be written
        """
        self._store.set_offset(brokers, topic, partition, offset, self._losses)


def _parse(name: str, data: bytes) -> Any:
    """A message; of a segment what the store takes."""
    message = parse(name, data)
    return index(message, data) if name == "SegmentObject" else message


def _parse_large(name: str, data: bytes) -> Any:
    """As `_parse`; raises ValueError when there is too much in it."""
    if name == "SegmentObject":
        return index_bytes(data)
    if len(data) > PIECE:
        with malformed(name):
            check_parts(data, described(name))
    return parse(name, data)
