"""OTLP over HTTP/1.1 (httpx), with protobuf bodies, on asyncio and on trio. See `otlp`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar

import httpx

from swagent.abc import Address, Codec, Instance, Runtime
from swagent.config import Config
from swagent.errors import AmbiguousError, DeliveryError, RejectedError, RetryableError
from swagent.signals import Signal

from ._http_calls import HttpCalls
from ._http_exchange import Exchange
from ._otlp_export import EXPORTS, TRACES, Exporter, check_reply
from ._otlp_settings import request_headers
from ._retry_after import read_retry_after

# OTLP's rule: these statuses say that nothing was taken. Seconds of a pause without a `Retry-After`.
_RETRIES = {429: 5.0, 503: 5.0}
# Seconds for which a collector is left alone that refuses us, as over gRPC.
_PAUSES = {401: 60.0, 403: 60.0}
# the collector does not take this signal
_MISSING = {404: 300.0, 405: 300.0, 501: 300.0}


class OtlpHttpTransport(HttpCalls):
    """Reports to one collector by OTLP over HTTP, one request a batch, several connections at a time."""

    name: ClassVar[str] = "otlp-http"
    codec: ClassVar[Codec] = "protobuf"
    signals: ClassVar[frozenset[Signal]] = frozenset(EXPORTS)
    runtimes: ClassVar[frozenset[Runtime]] = frozenset({"asyncio", "trio"})

    def __init__(self, config: Config, address: Address) -> None:
        """:raises ConfigError: when a TLS file or the address cannot be used"""
        super().__init__(config, address, {"content-type": "application/x-protobuf", **request_headers(config)})
        self._path = config.otlp_path.rstrip("/")
        self._exporter = Exporter()

    async def send(self, signal: Signal, records: Sequence[bytes]) -> None:
        """Deliver a batch in one request. If it is cancelled, it closes its connection and ends at once.

        :raises RetryableError: when nothing of the batch left, or the collector asks for it once more
        :raises AmbiguousError: when it left and no clear answer came
        :raises RejectedError: when the collector refused it, or a part of it
        """
        export = EXPORTS[signal]
        request = await self._exporter.request(export, records)
        check_reply(await self._call(self._path + export.path, request, keeps_reply=True), len(records))

    async def report_properties(self, instance: Instance) -> None:
        """Probe the collector; raises as `send` does."""
        self._exporter.describe(instance)
        await self.keep_alive(instance)

    async def keep_alive(self, instance: Instance) -> None:  # noqa: ARG002, RUF100
        """Probe the collector; raises as `send` does."""
        try:
            await self._call(self._path + TRACES.path, b"")
        except RejectedError as error:
            # it may take other signals
            if not error.only_this_signal:
                raise

    def _judge(self, call: Exchange, response: httpx.Response) -> DeliveryError | None:
        status = response.status_code
        text = f"HTTP {status}"
        if 200 <= status < 300:
            if call.is_garbled:
                return AmbiguousError(f"{text}, and behind its head what cannot be read")
            return None if call.is_sent else AmbiguousError(f"{text}, before all was sent")
        if status in _RETRIES:
            requested = read_retry_after(response.headers.get("retry-after", ""), time.time())
            return RetryableError(text, pause=_RETRIES[status] if requested is None else requested)
        if status in _MISSING:
            return RejectedError(text, pause=_MISSING[status], only_this_signal=True)
        if 300 <= status < 500:
            return RejectedError(text, pause=_PAUSES.get(status, 0.0))
        return AmbiguousError(text)

    def __str__(self) -> str:
        return f"otlp+{self._url}"
