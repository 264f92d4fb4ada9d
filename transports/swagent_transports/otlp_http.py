"""OTLP over HTTP/1.1 (httpx), with protobuf bodies, on asyncio and on trio. See `otlp`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from swagent.abc import Address, Codec, Instance, Runtime
from swagent.config import Config
from swagent.errors import RetryableError
from swagent.signals import Signal

from ._http_calls import HttpCalls
from ._otlp_export import EXPORTS, TRACES, Exporter, check_reply, probe
from ._otlp_settings import request_headers


class OtlpHttpTransport(HttpCalls):
    """Reports to one collector by OTLP over HTTP, one request a batch, several connections at a time."""

    name: ClassVar[str] = "otlp-http"
    codec: ClassVar[Codec] = "protobuf"
    signals: ClassVar[frozenset[Signal]] = frozenset(EXPORTS)
    runtimes: ClassVar[frozenset[Runtime]] = frozenset({"asyncio", "trio"})
    # OTLP's rule: a collector that asks for a pause has taken nothing
    on_pause = RetryableError
    missing = frozenset({404, 405, 501})

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
        await probe(self._call(self._path + TRACES.path, b""))

    def __str__(self) -> str:
        return f"otlp+{self._url}"
