"""OTLP over gRPC (grpclib): to OpenTelemetry's collector, Jaeger, Tempo and all others that take it.

The records come in SkyWalking's protocol, and are translated here. OTLP knows no instances that live: the probe and the
heartbeat are exports without a span, and the properties go with each request, as the resource.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from grpclib.const import Status
from grpclib.exceptions import GRPCError

from swagent.abc import Address, Codec, Instance, Runtime
from swagent.config import Config
from swagent.errors import DeliveryError, RejectedError, RetryableError
from swagent.signals import Signal

from ._grpc_calls import REJECTIONS, GrpcCalls, legible, open_verdict
from ._grpclib_call import Call
from ._otlp_export import EXPORTS, TRACES, Exporter, check_reply, probe
from ._otlp_settings import request_headers

_DEFAULT_PAUSE = 5.0


class OtlpTransport(GrpcCalls):
    """Reports to one collector by OTLP over gRPC."""

    name: ClassVar[str] = "otlp"
    codec: ClassVar[Codec] = "protobuf"
    signals: ClassVar[frozenset[Signal]] = frozenset(EXPORTS)
    runtimes: ClassVar[frozenset[Runtime]] = frozenset({"asyncio"})

    def __init__(self, config: Config, address: Address) -> None:
        """:raises ConfigError: when a TLS file cannot be used"""
        super().__init__(config, address, request_headers(config))
        self._exporter = Exporter()

    async def send(self, signal: Signal, records: Sequence[bytes]) -> None:
        """Deliver a batch in one call.

        :raises RetryableError: when nothing of the batch left, or the collector asks for it once more
        :raises AmbiguousError: when it left and no clear answer came
        :raises RejectedError: when the collector refused it, or a part of it
        """
        export = EXPORTS[signal]
        request = await self._exporter.request(export, records)
        check_reply(await self._call(export.method, [request]), len(records))

    async def report_properties(self, instance: Instance) -> None:
        """Probe the collector; raises as `send` does."""
        self._exporter.describe(instance)
        await self.keep_alive(instance)

    async def keep_alive(self, instance: Instance) -> None:  # noqa: ARG002, RUF100
        """Probe the collector; raises as `send` does."""
        await probe(self._call(TRACES.method, [b""]))

    def _judge(self, call: Call, error: GRPCError) -> DeliveryError:
        text = legible(f"{error.status.name} {error.message or ''}".strip())
        requested = call.retry_delay
        # OTLP's rule: these statuses say that nothing was taken, the second one only if it names a time
        if error.status is Status.UNAVAILABLE and call.has_status:
            return RetryableError(text, pause=_DEFAULT_PAUSE if requested is None else requested)
        if error.status is Status.RESOURCE_EXHAUSTED and requested is not None:
            return RetryableError(text, pause=requested)
        pause = REJECTIONS.get(error.status)
        if pause is None:
            return open_verdict(call, text)
        return RejectedError(text, pause=pause, only_this_signal=error.status is Status.UNIMPLEMENTED)

    def __str__(self) -> str:
        return f"otlp{'s' if self._context else ''}://{self._address}"
