"""HTTP/1.1 to OAP's REST port: a JSON array a batch (httpx), on asyncio and on trio.

OAP has no path for meters there. It does not look at the token either; a proxy before it may.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from swagent.abc import Address, Codec, Instance, Runtime
from swagent.config import Config
from swagent.signals import Signal
from swagent_proto import wire_json

from ._http_calls import HttpCalls

_COLLECT = {
    Signal.SEGMENT: "/v3/segments",
    Signal.LOG: "/v3/logs",
    Signal.EVENT: "/v3/events",
}
_REPORT_PROPERTIES = "/v3/management/reportProperties"
_KEEP_ALIVE = "/v3/management/keepAlive"


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
