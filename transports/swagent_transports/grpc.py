"""gRPC over one multiplexed HTTP/2 connection (grpclib).

There is one `collect` stream for each batch, because the collector answers a stream and not a message: so each batch
has its verdict. Several batches share the connection. There is no HTTP/2 keepalive, since a stock OAP answers frequent
pings with GOAWAY; instead a call that passes its deadline aborts the connection, and the next one dials anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import ClassVar

from grpclib.const import Status
from grpclib.exceptions import GRPCError

from swagent.abc import Address, Codec, Command, Instance, Runtime
from swagent.config import Config
from swagent.errors import AmbiguousError, DeliveryError, RejectedError, RetryableError
from swagent.signals import Signal
from swagent.stop_budgets import TRANSPORT_CALL_END
from swagent_proto import wire

from . import _grpc_commands as commands
from ._deadline import wait_done
from ._grpclib import GrpcChannel
from ._grpclib_call import Call
from ._grpclib_streams import NotProcessedError
from ._meters import elements
from ._tls import client_context

_COLLECT = {
    Signal.SEGMENT: "/skywalking.v3.TraceSegmentReportService/collect",
    Signal.LOG: "/skywalking.v3.LogReportService/collect",
    Signal.METER: "/skywalking.v3.MeterReportService/collect",
    Signal.EVENT: "/skywalking.v3.EventService/collect",
    Signal.PROFILE: "/skywalking.v3.ProfileTask/collectSnapshot",
}
_REPORT_PROPERTIES = "/skywalking.v3.ManagementService/reportInstanceProperties"
_KEEP_ALIVE = "/skywalking.v3.ManagementService/keepAlive"

# Seconds for which a collector that refuses everything is left alone. Statuses that are not named here leave the
# outcome open: the call may have been processed before it failed.
_REJECTIONS = {
    Status.PERMISSION_DENIED: 60.0,
    Status.UNAUTHENTICATED: 60.0,
    Status.RESOURCE_EXHAUSTED: 5.0,
    Status.UNIMPLEMENTED: 300.0,
    Status.INVALID_ARGUMENT: 0.0,
    Status.FAILED_PRECONDITION: 0.0,
    Status.OUT_OF_RANGE: 0.0,
    Status.DATA_LOSS: 0.0,
    Status.NOT_FOUND: 0.0,
    Status.ALREADY_EXISTS: 0.0,
}
_MAX_TEXT = 200


class GrpcTransport:
    """Reports to one collector over gRPC."""

    name: ClassVar[str] = "grpc"
    codec: ClassVar[Codec] = "protobuf"
    signals: ClassVar[frozenset[Signal]] = frozenset(_COLLECT)
    runtimes: ClassVar[frozenset[Runtime]] = frozenset({"asyncio"})

    def __init__(self, config: Config, address: Address) -> None:
        """:raises ConfigError: when a TLS file cannot be used"""
        self._address = address
        self._timeout = config.request_timeout
        self._context = client_context(config, ["h2"]) if address.tls else None
        token = config.authentication.reveal()
        self._metadata = {"authentication": token} if token else {}
        self._channel: GrpcChannel | None = None
        # the compressed headers of calls, by their paths
        self._blocks: dict[str, bytes] = {}
        self._calls: set[asyncio.Future[bytes]] = set()
        self._is_closed = False

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

    async def aclose(self) -> None:
        """Abort the connection. A call that still dials ends as unsent."""
        self._is_closed = True
        if self._channel is not None:
            self._hang_up(self._channel)
        await _let_go(self._calls)

    async def _call(self, path: str, messages: Sequence[bytes]) -> bytes:
        """Make one call within the timeout."""
        if self._is_closed:
            raise RetryableError("the transport is closed")
        channel = self._channel
        if channel is None:
            channel = self._channel = GrpcChannel(self._address.host, self._address.port, self._context)
        block = self._blocks.get(path)
        if block is None:
            block = self._blocks[path] = channel.request_block(path, self._metadata)
        call = Call(block, messages, asyncio.get_running_loop().create_future())
        outcome = channel.begin(call)
        self._calls.add(outcome)
        outcome.add_done_callback(self._forget)
        try:
            await wait_done(outcome, self._timeout)
        except asyncio.CancelledError:
            await _let_go({outcome})
            raise
        if not outcome.done():
            self._hang_up(channel)
            await _let_go({outcome})
            raise _open_verdict(call, f"no answer within {self._timeout:g} s")
        if outcome.cancelled():
            raise _open_verdict(call, "the call was cancelled from inside")
        error = outcome.exception()
        if error is None:
            return outcome.result()
        raise self._translate(channel, call, error) from error

    def _translate(self, channel: GrpcChannel, call: Call, error: BaseException) -> DeliveryError:
        if isinstance(error, GRPCError):
            text = f"{error.status.name} {error.message or ''}".strip()
            pause = _REJECTIONS.get(error.status)
            if pause is None:
                return _open_verdict(call, text)
            if error.status is Status.RESOURCE_EXHAUSTED and (requested := call.retry_delay) is not None:
                pause = requested
            # a collector without this service may well have the others
            is_one_service = error.status is Status.UNIMPLEMENTED
            return RejectedError(_legible(text), pause=pause, only_this_signal=is_one_service)
        if isinstance(error, NotProcessedError):
            return RetryableError(_legible(str(error)), pause=error.pause)
        # a broken connection, or a peer that does not speak the protocol: the next call starts with a clean one
        self._hang_up(channel)
        return _open_verdict(call, f"{type(error).__name__}: {error}")

    def _hang_up(self, channel: GrpcChannel) -> None:
        """Abort a channel. A later call may have opened the next one already, which is left alone."""
        if self._channel is channel:
            self._channel = None
        channel.abort()

    def _forget(self, outcome: asyncio.Future[bytes]) -> None:
        """Look at the outcome of a call that perhaps no task awaits, or asyncio reports it to the application."""
        self._calls.discard(outcome)
        if not outcome.cancelled():
            outcome.exception()

    def __str__(self) -> str:
        return f"grpc{'s' if self._context else ''}://{self._address}"


def _open_verdict(call: Call, text: str) -> DeliveryError:
    """The verdict on the batch after a failure without an answer of the collector."""
    return AmbiguousError(_legible(text)) if call.may_have_sent else RetryableError(_legible(text))


def _legible(text: str) -> str:
    """The text of a peer, fit for a log line."""
    return "".join(each if each.isprintable() else "?" for each in text[:_MAX_TEXT])


async def _let_go(calls: Iterable[asyncio.Future[bytes]]) -> None:
    """Cancel calls, and give them a moment to reset their streams."""
    waiting = set(calls)
    for task in waiting:
        task.cancel()
    if waiting:
        await asyncio.wait(waiting, timeout=TRANSPORT_CALL_END)
