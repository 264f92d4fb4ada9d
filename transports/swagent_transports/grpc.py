"""gRPC over one multiplexed HTTP/2 connection (grpclib).

There is one `collect` stream for each batch, because the collector answers a stream and not a message: so each batch
has its verdict. Several batches share the connection.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from grpclib.const import Status
from grpclib.exceptions import GRPCError

from swagent.abc import Address, Codec, Command, Instance, Runtime
from swagent.config import Config
from swagent.errors import DeliveryError, RejectedError
from swagent.signals import Signal
from swagent_proto import wire

from . import _grpc_commands as commands
from ._grpc_calls import REJECTIONS, GrpcCalls, legible, open_verdict
from ._grpclib_call import Call
from ._meters import elements

_COLLECT = {
    Signal.SEGMENT: "/skywalking.v3.TraceSegmentReportService/collect",
    Signal.LOG: "/skywalking.v3.LogReportService/collect",
    Signal.METER: "/skywalking.v3.MeterReportService/collect",
    Signal.EVENT: "/skywalking.v3.EventService/collect",
    Signal.PROFILE: "/skywalking.v3.ProfileTask/collectSnapshot",
}
_REPORT_PROPERTIES = "/skywalking.v3.ManagementService/reportInstanceProperties"
_KEEP_ALIVE = "/skywalking.v3.ManagementService/keepAlive"

# for OTLP these two leave the outcome open
_REJECTIONS = {**REJECTIONS, Status.OUT_OF_RANGE: 0.0, Status.DATA_LOSS: 0.0}


class GrpcTransport(GrpcCalls):
    """Reports to one collector over gRPC."""

    name: ClassVar[str] = "grpc"
    codec: ClassVar[Codec] = "protobuf"
    signals: ClassVar[frozenset[Signal]] = frozenset(_COLLECT)
    runtimes: ClassVar[frozenset[Runtime]] = frozenset({"asyncio"})

    def __init__(self, config: Config, address: Address) -> None:
        """:raises ConfigError: when a TLS file cannot be used"""
        token = config.authentication.reveal()
        super().__init__(config, address, {"authentication": token} if token else {})

    async def send(self, signal: Signal, records: Sequence[bytes]) -> None:
        """Deliver a batch in one `collect` stream; of meters, each period in a stream of its own, which is what the
        collector takes as one input set."""
        path = _COLLECT[signal]
        if signal is not Signal.METER:
            await self._call(path, records)
            return
        for collection in records:
            await self._call(path, list(elements(collection)))

    async def report_properties(self, instance: Instance) -> None:
        """Report the instance to the collector."""
        message = wire.instance_properties(instance.service, instance.name, instance.properties, "")
        await self._call(_REPORT_PROPERTIES, [message])

    async def keep_alive(self, instance: Instance) -> None:
        """Report to the collector that the instance lives."""
        await self._call(_KEEP_ALIVE, [wire.instance_ping_pkg(instance.service, instance.name, "")])

    async def profile_commands(self, instance: Instance, since: int) -> Sequence[Command]:
        """Ask for the profile tasks that were made after a moment."""
        reply = await self._call(commands.ASK, [commands.question(instance, since)])
        return await commands.read_commands(reply)

    async def report_profile_finish(self, instance: Instance, task: str) -> None:
        """Report to the collector that a profile task is over."""
        await self._call(commands.FINISH, [commands.finish(instance, task)])

    async def configuration_commands(self, instance: Instance, uuid: str) -> Sequence[Command]:
        """Ask for the settings of a service, unless they are those of this UUID."""
        reply = await self._call(commands.ASK_CONFIGURATION, [commands.configuration_question(instance, uuid)])
        return await commands.read_commands(reply)

    def _judge(self, call: Call, error: GRPCError) -> DeliveryError:
        text = f"{error.status.name} {error.message or ''}".strip()
        pause = _REJECTIONS.get(error.status)
        if pause is None:
            return open_verdict(call, text)
        if error.status is Status.RESOURCE_EXHAUSTED and (requested := call.retry_delay) is not None:
            pause = requested
        # a collector without this service may well have the others
        is_one_service = error.status is Status.UNIMPLEMENTED
        return RejectedError(legible(text), pause=pause, only_this_signal=is_one_service)

    def __str__(self) -> str:
        return f"grpc{'s' if self._context else ''}://{self._address}"
