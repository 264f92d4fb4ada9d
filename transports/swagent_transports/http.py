"""HTTP/1.1 to OAP's REST port: a JSON array a batch (httpx), on asyncio and on trio.

OAP has no path for meters there. It does not look at the token either; a proxy before it may.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar

import anyio
import httpx

from swagent.abc import Address, Codec, Instance, Runtime
from swagent.config import Config
from swagent.errors import AmbiguousError, ConfigError, DeliveryError, RejectedError, RetryableError
from swagent.signals import Signal
from swagent.stop_budgets import TRANSPORT_CALL_END
from swagent_proto import wire_json

from ._deadline import expire
from ._http_exchange import Exchange
from ._http_pool import Pool
from ._retry_after import read_retry_after
from ._tls import client_context

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
_LONGEST_TEXT = 200


class HttpTransport:
    """Reports to one collector over HTTP/1.1, one request per batch, several connections at a time."""

    name: ClassVar[str] = "http"
    codec: ClassVar[Codec] = "json"
    signals: ClassVar[frozenset[Signal]] = frozenset(_COLLECT)
    runtimes: ClassVar[frozenset[Runtime]] = frozenset({"asyncio", "trio"})

    def __init__(self, config: Config, address: Address) -> None:
        """:raises ConfigError: when a TLS file or the address cannot be used"""
        try:
            self._url = httpx.URL(f"http{'s' if address.tls else ''}://{address}")
        except httpx.InvalidURL as error:
            raise ConfigError("collector", str(address), f"a host that a URL can name ({error})") from None
        self._timeout = config.request_timeout
        self._context = client_context(config) if address.tls else None
        self._headers = {"content-type": "application/json", "accept-encoding": "identity"}
        if config.authentication:
            self._headers["authentication"] = config.authentication.reveal()
        self._pool: Pool | None = None
        self._under_way: set[Exchange] = set()
        self._is_closed = False

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

    async def aclose(self) -> None:
        """Close every connection. Calls under way end now, as ambiguous where something of them may have left."""
        self._is_closed = True
        calls = tuple(self._under_way)
        for call in calls:
            call.scope.cancel()
        if self._pool is not None:
            await self._pool.retire()
        with anyio.move_on_after(TRANSPORT_CALL_END):
            for call in calls:
                await call.ended.wait()

    async def _call(self, path: str, content: bytes) -> None:
        if self._is_closed:
            raise RetryableError("the transport is closed")
        call = Exchange(self._url.copy_with(path=path), self._headers, content)
        self._under_way.add(call)
        try:
            failure = await self._attempt(call)
        finally:
            self._under_way.discard(call)
            call.ended.set()
        # what fails to come after the head of an answer changes nothing in what the answer says
        verdict = _judge_failure(call, failure) if call.response is None else _judge_answer(call, call.response)
        if verdict is not None:
            raise verdict from (failure if isinstance(failure, Exception) else None)

    async def _attempt(self, call: Exchange) -> Exception | str:
        """Do the exchange within the timeout. Returns what cut it off, if anything did."""
        if self._pool is None or self._pool.is_retired:
            self._pool = Pool(self._context)
        failure: Exception | None = None
        over = anyio.Event()
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(expire, call.scope, self._timeout, over)
                with call.scope:
                    try:
                        await self._pool.run(call)
                    except Exception as error:
                        failure = error
                over.set()
        except Exception as error:
            # from the timer, and so from what ended the call together with it
            failure = error
        if failure is not None:
            return failure
        return "the transport was closed" if self._is_closed else f"no answer within {self._timeout:g} s"

    def __str__(self) -> str:
        return str(self._url)


def _judge_failure(call: Exchange, failure: Exception | str) -> DeliveryError:
    """The verdict on the batch of a call without an answer."""
    text = failure if isinstance(failure, str) else f"{type(failure).__name__}: {failure}"[:_LONGEST_TEXT]
    return AmbiguousError(text) if call.may_have_sent else RetryableError(text)


def _judge_answer(call: Exchange, response: httpx.Response) -> DeliveryError | None:
    """The verdict on the batch of a call with an answer; None: confirmed."""
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
