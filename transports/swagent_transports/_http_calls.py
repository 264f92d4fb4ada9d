"""Calls over HTTP/1.1 to one peer, several connections at a time, each within its time, each with a verdict."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import ClassVar

import anyio
import httpx

from swagent.abc import Address
from swagent.config import Config
from swagent.errors import AmbiguousError, ConfigError, DeliveryError, RejectedError, RetryableError
from swagent.stop_budgets import TRANSPORT_CALL_END

from ._connection_age import ConnectionAge
from ._deadline import expire
from ._http_exchange import Exchange
from ._http_pool import Pool
from ._retry_after import read_retry_after
from ._tls import client_context

_LONGEST_TEXT = 200
# Seconds for which a peer is left alone that asks for a pause without saying how long.
_DEFAULT_PAUSES = {429: 5.0, 503: 5.0}
# Seconds for which a peer is left alone that refuses us, and that does not take a signal, as over gRPC.
_PAUSES = {401: 60.0, 403: 60.0}
_MISSING_PAUSE = 300.0


class HttpCalls:
    """What every transport over HTTP has in common: the connections, the calls, and how they end.

    :cvar on_pause: the verdict where the peer asks for a pause
    :cvar missing: the statuses of a peer that does not take this signal, and may take others
    """

    on_pause: ClassVar[type[RetryableError | RejectedError]] = RejectedError
    missing: ClassVar[frozenset[int]] = frozenset()

    def __init__(self, config: Config, address: Address, headers: Mapping[str, str]) -> None:
        """
        :param headers: go with each request
        :raises ConfigError: when a TLS file or the address cannot be used
        """
        try:
            self._url = httpx.URL(f"http{'s' if address.tls else ''}://{address}")
        except httpx.InvalidURL as error:
            raise ConfigError("collector", str(address), f"a host that a URL can name ({error})") from None
        self._timeout = config.request_timeout
        self._context = client_context(config) if address.tls else None
        self._headers = {**headers, "accept-encoding": "identity"}
        self._age = ConnectionAge(config.connection_max_age)
        self._pool: Pool | None = None
        self._is_renewing = False
        self._under_way: set[Exchange] = set()
        self._is_closed = False

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

    async def _call(self, path: str, content: bytes, *, keeps_reply: bool = False) -> bytes:
        """Do one exchange.

        :returns: the body of the reply, where it is kept
        :raises DeliveryError: the verdict, unless the peer confirmed
        """
        if self._is_closed:
            raise RetryableError("the transport is closed")
        call = Exchange(self._url.copy_with(path=path), self._headers, content, keeps_reply=keeps_reply)
        self._under_way.add(call)
        try:
            failure = await self._attempt(call)
        finally:
            self._under_way.discard(call)
            call.ended.set()
        # what fails to come after the head of an answer changes nothing in what the answer says
        verdict = _judge_failure(call, failure) if call.response is None else self._judge(call, call.response)
        if verdict is not None:
            raise verdict from (failure if isinstance(failure, Exception) else None)
        return bytes(call.reply)

    def _judge(self, call: Exchange, response: httpx.Response) -> DeliveryError | None:
        """The verdict on the batch of a call with an answer; None: confirmed."""
        status = response.status_code
        if status in _DEFAULT_PAUSES:
            self._age.refused(anyio.current_time())
        text = f"HTTP {status}"
        if 200 <= status < 300:
            if call.is_garbled:
                return AmbiguousError(f"{text}, and behind its head what cannot be read")
            return None if call.is_sent else AmbiguousError(f"{text}, before all was sent")
        if status in _DEFAULT_PAUSES:
            requested = read_retry_after(response.headers.get("retry-after", ""), time.time())
            return self.on_pause(text, pause=_DEFAULT_PAUSES[status] if requested is None else requested)
        if status in self.missing:
            return RejectedError(text, pause=_MISSING_PAUSE, only_this_signal=True)
        if 300 <= status < 500:
            return RejectedError(text, pause=_PAUSES.get(status, 0.0))
        return AmbiguousError(text)

    async def _attempt(self, call: Exchange) -> Exception | str:
        """Do the exchange within the timeout. Returns what cut it off, if anything did."""
        failure: Exception | None = None
        over = anyio.Event()
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(expire, call.scope, self._timeout, over)
                with call.scope:
                    try:
                        await self._run(call)
                    except Exception as error:
                        failure = error
                over.set()
        except Exception as error:
            # from the timer, and so from what ended the call together with it
            failure = error
        if failure is not None:
            return failure
        return "the transport was closed" if self._is_closed else f"no answer within {self._timeout:g} s"

    async def _run(self, call: Exchange) -> None:
        """Do the exchange over the pool, or over a new one when it is time for that."""
        pool = self._usable_pool()
        if self._is_renewing or anyio.current_time() < self._age.over_at:
            await pool.run(call)
        elif not await self._renew(call):
            await self._usable_pool().run(call)

    def _usable_pool(self) -> Pool:
        pool = self._pool
        if pool is None or pool.is_retired:
            pool = self._pool = Pool(self._context)
            self._age.begin(anyio.current_time())
        return pool

    async def _renew(self, call: Exchange) -> bool:
        """Let the exchange try a new pool, which takes the place of the old one if it works. The other calls go on over
        the old one.

        :returns: whether it worked; if not, nothing of the call has left
        """
        self._is_renewing = True
        pool = Pool(self._context)
        try:
            with call.dialling_within(self._timeout / 2):
                await pool.run(call)
        except Exception:
            if call.may_have_sent:
                raise
            return False
        else:
            old, self._pool = self._pool, pool
            if old is not None:
                await old.retire()
            if self._is_closed:
                await pool.retire()
            return True
        finally:
            self._age.begin(anyio.current_time())
            self._is_renewing = False

    def __str__(self) -> str:
        return str(self._url)


def _judge_failure(call: Exchange, failure: Exception | str) -> DeliveryError:
    """The verdict on the batch of a call without an answer."""
    text = failure if isinstance(failure, str) else f"{type(failure).__name__}: {failure}"[:_LONGEST_TEXT]
    return AmbiguousError(text) if call.may_have_sent else RetryableError(text)
