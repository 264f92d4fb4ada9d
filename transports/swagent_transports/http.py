"""HTTP/1.1 to OAP's REST port: a JSON array a batch (httpx), on asyncio and on trio.

OAP has no path for meters there. It does not look at the token either; a proxy before it may.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar

import httpx

from swagent.abc import Address, Codec, Instance, Runtime
from swagent.config import Config
from swagent.errors import AmbiguousError, DeliveryError, RejectedError
from swagent.signals import Signal
from swagent_proto import wire_json

from ._http_calls import HttpCalls
from ._http_exchange import Exchange
from ._retry_after import read_retry_after

_COLLECT = {
    Signal.SEGMENT: "/v3/segments",
    Signal.LOG: "/v3/logs",
    Signal.EVENT: "/v3/events",
}
_REPORT_PROPERTIES = "/v3/management/reportProperties"
_KEEP_ALIVE = "/v3/management/keepAlive"

# Seconds for which a collector is left alone that asks for a pause without saying how long.
_DEFAULT_PAUSES = {429: 5.0, 503: 5.0}
# Seconds for which a collector is left alone that refuses us, as over gRPC.
_PAUSES = {401: 60.0, 403: 60.0}


class HttpTransport(HttpCalls):
    """Reports to one collector over HTTP/1.1, one request per batch, several connections at a time."""

    name: ClassVar[str] = "http"
    codec: ClassVar[Codec] = "json"
    signals: ClassVar[frozenset[Signal]] = frozenset(_COLLECT)
    runtimes: ClassVar[frozenset[Runtime]] = frozenset({"asyncio", "trio"})

    def __init__(self, config: Config, address: Address) -> None:
        """:raises ConfigError: when a TLS file or the address cannot be used"""
        headers = {"content-type": "application/json"}
        if config.authentication:
            headers["authentication"] = config.authentication.reveal()
        super().__init__(config, address, headers)

    async def send(self, signal: Signal, records: Sequence[bytes]) -> None:
        """Deliver a batch as one JSON array. If it is cancelled, it closes its connection and ends at once.

        :raises RetryableError: when nothing of the batch left
        :raises AmbiguousError: when it left and no clear answer came
        :raises RejectedError: when the collector refused it
        """
        await self._call(_COLLECT[signal], b"[%b]" % b",".join(records))

    async def report_properties(self, instance: Instance) -> None:
        """Report the instance to the collector; raises as `send` does."""
        text = wire_json.instance_properties(instance.service, instance.name, instance.properties, "")
        await self._call(_REPORT_PROPERTIES, text.encode())

    async def keep_alive(self, instance: Instance) -> None:
        """Report to the collector that the instance lives; raises as `send` does."""
        await self._call(_KEEP_ALIVE, wire_json.instance_ping_pkg(instance.service, instance.name, "").encode())

    def _judge(self, call: Exchange, response: httpx.Response) -> DeliveryError | None:
        status = response.status_code
        text = f"HTTP {status}"
        if 200 <= status < 300:
            if call.is_garbled:
                return AmbiguousError(f"{text}, and behind its head what cannot be read")
            return None if call.is_sent else AmbiguousError(f"{text}, before all was sent")
        if status in _DEFAULT_PAUSES:
            requested = read_retry_after(response.headers.get("retry-after", ""), time.time())
            return RejectedError(text, pause=_DEFAULT_PAUSES[status] if requested is None else requested)
        if 300 <= status < 500:
            return RejectedError(text, pause=_PAUSES.get(status, 0.0))
        return AmbiguousError(text)
