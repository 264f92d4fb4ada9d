"""The gRPC intake: every service of the collect protocol, answered with no commands.

What has arrived on a stream is kept at once: a stream that breaks later does not take it back, as in OAP.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TypeVar

from grpclib.const import Status
from grpclib.exceptions import GRPCError

from swagent_proto import messages as wire

from . import records, translation
from .store import Store
from .trace_translation import segment_of

M = TypeVar("M")


async def _drain(stream: AsyncIterator[M], take: Callable[[M], object]) -> wire.Commands:
    """Take each message until the client half-closes; then comes the one answer."""
    async for message in stream:
        take(message)
        await asyncio.sleep(0)  # while messages are buffered, grpclib lets nobody else run
    return wire.Commands()


def _present(message: M | None) -> M:
    """grpclib hands a unary call without a message over as None."""
    if message is None:
        raise GRPCError(Status.INVALID_ARGUMENT, "the call carries no message")
    return message


class _Intake:
    """What puts records into a store."""

    def __init__(self, store: Store) -> None:
        self._store = store


class SegmentIntake(_Intake, wire.TraceSegmentReportServiceBase):
    async def collect(self, segment_object_iterator: AsyncIterator[wire.SegmentObject]) -> wire.Commands:
        return await _drain(segment_object_iterator, self._take)

    async def collect_in_sync(self, segment_collection: wire.SegmentCollection) -> wire.Commands:
        for message in _present(segment_collection).segments:
            self._take(message)
        return wire.Commands()

    def _take(self, message: wire.SegmentObject) -> None:
        self._store.add(segment_of(message))


class AttachedEventIntake(_Intake, wire.SpanAttachedEventReportServiceBase):
    async def collect(self, span_attached_event_iterator: AsyncIterator[wire.SpanAttachedEvent]) -> wire.Commands:
        return await _drain(span_attached_event_iterator, self._take)

    def _take(self, message: wire.SpanAttachedEvent) -> None:
        self._store.add(translation.attached_event_of(message))


class LogIntake(_Intake, wire.LogReportServiceBase):
    async def collect(self, log_data_iterator: AsyncIterator[wire.LogData]) -> wire.Commands:
        return await _drain(log_data_iterator, lambda message: self._store.add(translation.log_of(message)))


class EventIntake(_Intake, wire.EventServiceBase):
    async def collect(self, event_iterator: AsyncIterator[wire.Event]) -> wire.Commands:
        return await _drain(event_iterator, lambda message: self._store.add(translation.event_of(message)))


class MeterIntake(_Intake, wire.MeterReportServiceBase):
    async def collect(self, meter_data_iterator: AsyncIterator[wire.MeterData]) -> wire.Commands:
        first: list[wire.MeterData] = []

        def take(message: wire.MeterData) -> None:
            if not first:
                first.append(message)
            self._store.add(translation.meter_of(message, first[0]))

        return await _drain(meter_data_iterator, take)

    async def collect_batch(
        self, meter_data_collection_iterator: AsyncIterator[wire.MeterDataCollection]
    ) -> wire.Commands:
        return await _drain(meter_data_collection_iterator, self._take)

    def _take(self, collection: wire.MeterDataCollection) -> None:
        """Each collection is an input set of its own."""
        for message in collection.meter_data:
            self._store.add(translation.meter_of(message, collection.meter_data[0]))


class ManagementIntake(_Intake, wire.ManagementServiceBase):
    async def report_instance_properties(self, instance_properties: wire.InstanceProperties) -> wire.Commands:
        self._store.add(translation.properties_of(_present(instance_properties)))
        return wire.Commands()

    async def keep_alive(self, instance_ping_pkg: wire.InstancePingPkg) -> wire.Commands:
        ping = _present(instance_ping_pkg)
        self._store.add(records.KeepAlive(ping.service, ping.service_instance, ping.layer))
        return wire.Commands()


class ConfigurationIntake(_Intake, wire.ConfigurationDiscoveryServiceBase):
    async def fetch_configurations(self, configuration_sync_request: wire.ConfigurationSyncRequest) -> wire.Commands:
        _present(configuration_sync_request)
        return wire.Commands()


class ProfileIntake(_Intake, wire.ProfileTaskBase):
    async def get_profile_task_commands(
        self, profile_task_command_query: wire.ProfileTaskCommandQuery
    ) -> wire.Commands:
        _present(profile_task_command_query)
        return wire.Commands()

    async def collect_snapshot(self, thread_snapshot_iterator: AsyncIterator[wire.ThreadSnapshot]) -> wire.Commands:
        return await _drain(thread_snapshot_iterator, lambda message: self._store.add(translation.snapshot_of(message)))

    async def report_task_finish(self, profile_task_finish_report: wire.ProfileTaskFinishReport) -> wire.Commands:
        report = _present(profile_task_finish_report)
        self._store.add(records.ProfileFinish(report.service, report.service_instance, report.task_id))
        return wire.Commands()

    async def go_profile_report(self, go_profile_data_iterator: AsyncIterator[wire.GoProfileData]) -> wire.Commands:
        return await _drain(go_profile_data_iterator, self._take)

    def _take(self, message: wire.GoProfileData) -> None:
        self._store.add(records.ProfileData(message.task_id, len(message.payload), message.is_last))
