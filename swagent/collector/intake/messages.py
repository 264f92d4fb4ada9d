"""From a message, by its name in the protocol, to records in the store. What gRPC, HTTP and Kafka have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..store import records
from ..store.protocol import parse
from ..store.segment_index import index
from ..store.store import Store
from . import translation

Take = Callable[[bytes], None]
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
_QUERIES = ("ConfigurationSyncRequest", "ProfileTaskCommandQuery")


class Intake:
    """Takes the messages of one call, one request or one partition into a store.

    Meters of one call are one input set, of which only the first must name service, instance and time.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._losses = store.losses
        self._first_meter: Any = None

    def take(self, name: str, data: bytes) -> None:
        """Take a message's bytes in.

        :param name: of the message's kind, without the package
        :raises ValueError: when they are not a well-formed message of this kind
        :raises StoreError: when the store cannot be written
        """
        message = parse(name, data)
        if name == "SegmentObject":
            self._store.add_segment(index(message, data))
        else:
            self.take_message(name, message)

    def take_message(self, name: str, message: Any) -> None:
        """Take a message in.

        :raises StoreError: when the store cannot be written
        """
        if name == "SegmentObject":
            self._store.add_segment(index(message, message.SerializeToString()))
        elif name == "SegmentCollection":
            for segment in message.segments:
                self.take_message("SegmentObject", segment)
        elif name == "MeterData":
            self._first_meter = self._first_meter or message
            self._store.add(translation.meter_of(message, self._first_meter))
        elif name == "MeterDataCollection":
            for meter in message.meterData:
                self._store.add(translation.meter_of(meter, message.meterData[0]))
        elif name not in _QUERIES:
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
