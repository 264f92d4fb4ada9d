"""From a message, by its name in the protocol, to records in the store. What gRPC, HTTP and Kafka have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..pace import Pace
from ..store import records
from ..store.protocol import described, malformed, parse
from ..store.segment_index import index, indexing
from ..store.store import Store
from ..store.wire_check import LENGTH
from ..store.wire_pieces import PIECE, SMALL, Field, fields, weigh
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


class Intake:
    """Takes the messages of one call, one request or one partition into a store.

    Meters of one call are one input set, of which only the first must name service, instance and time.

    :ivar answer: what to tell the sender: commands, of which there are mostly none
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._losses = store.losses
        self._first_meter: Any = None
        self.answer = b""

    async def take_all(self, name: str, messages: Iterable[bytes], pace: Pace) -> None:
        """Take in messages of one kind; lets others run in between.

        :raises ValueError: when one is malformed; what came before it is taken
        :raises StoreError: when the store cannot be written
        """
        is_plain = name not in _COLLECTIONS
        for data in messages:
            if is_plain and len(data) <= SMALL:
                self._take(name, data)
            else:
                await self.take(name, data, pace)
            if pace.is_due:
                await pace.rest()

    async def take(self, name: str, data: bytes, pace: Pace) -> None:
        """Take a message's bytes in, however many they are; lets others run in between.

        :param name: of the message's kind, without the package
        :raises ValueError: when they are not a well-formed message of this kind
        :raises StoreError: when the store cannot be written
        """
        if name in _COLLECTIONS:
            self._first_meter = None  # each collection is a set of its own
            with malformed(name):
                elements = fields(data)
                while (element := next(elements, None)) is not None:
                    await self._take_element(name, data, element, pace)
        elif len(data) <= SMALL:
            self._take(name, data)
        elif name == "SegmentObject":
            self._store.add_segment(await pace.walk(indexing(data)))
        else:
            if len(data) > PIECE:
                with malformed(name):
                    await pace.walk(weigh(data, described(name)))
            self._take(name, data)
        await pace.breathe()

    async def _take_element(self, name: str, data: bytes, element: Field, pace: Pace) -> None:
        if element.number != 1:
            return
        if element.wire_type != LENGTH:
            raise ValueError(f"field 1 of {name} has wire type {element.wire_type}")
        await self.take(_COLLECTIONS[name], data[element.start : element.end], pace)

    def _take(self, name: str, data: bytes) -> None:
        message = parse(name, data)
        if name == "SegmentObject":
            self._store.add_segment(index(message, data))
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
