"""Calls over one multiplexed HTTP/2 connection to one peer, each within its time, each with a verdict.

There is no HTTP/2 keepalive, since a stock OAP answers frequent pings with GOAWAY; instead a call that passes its
deadline aborts the connection, and the next one dials anew.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from grpclib.const import Status
from grpclib.exceptions import GRPCError

from swagent.abc import Address
from swagent.config import Config
from swagent.errors import AmbiguousError, DeliveryError, RejectedError, RetryableError
from swagent.stop_budgets import TRANSPORT_CALL_END

from ._connection_age import ConnectionAge
from ._deadline import wait_done
from ._grpclib import GrpcChannel
from ._grpclib_call import Call
from ._grpclib_streams import NotProcessedError
from ._tls import client_context

_MAX_TEXT = 200
# Seconds for which a peer that refuses everything is left alone. Statuses that neither this nor a transport names leave
# the outcome open: the call may have been processed before it failed.
REJECTIONS: Mapping[Status, float] = {
    Status.PERMISSION_DENIED: 60.0,
    Status.UNAUTHENTICATED: 60.0,
    Status.RESOURCE_EXHAUSTED: 5.0,
    Status.UNIMPLEMENTED: 300.0,
    Status.INVALID_ARGUMENT: 0.0,
    Status.FAILED_PRECONDITION: 0.0,
    Status.NOT_FOUND: 0.0,
    Status.ALREADY_EXISTS: 0.0,
}


class GrpcCalls(ABC):
    """What every transport over gRPC has in common: the connection, the calls, and how they end."""

    def __init__(self, config: Config, address: Address, metadata: Mapping[str, str]) -> None:
        """
        :param metadata: goes with each call
        :raises ConfigError: when a TLS file cannot be used
        """
        self._address = address
        self._timeout = config.request_timeout
        self._context = client_context(config, ["h2"]) if address.tls else None
        self._metadata = metadata
        self._age = ConnectionAge(config.connection_max_age)
        self._channel: GrpcChannel | None = None
        # the compressed headers of calls, by their paths
        self._blocks: dict[str, bytes] = {}
        self._calls: set[asyncio.Future[Any]] = set()
        self._is_closed = False

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
            channel = self._channel = GrpcChannel(self._address.host, self._address.port, self._context, self._age)
        block = self._blocks.get(path)
        if block is None:
            block = self._blocks[path] = channel.request_block(path, self._metadata)
        call = Call(block, messages, asyncio.get_running_loop().create_future())
        outcome = channel.begin(call)
        self._watch(outcome)
        if channel.is_aged:
            self._watch(channel.renew(self._timeout))
        try:
            await wait_done(outcome, self._timeout)
        except asyncio.CancelledError:
            await _let_go({outcome})
            raise
        if not outcome.done():
            self._give_up(channel, call)
            await _let_go({outcome})
            raise open_verdict(call, f"no answer within {self._timeout:g} s")
        if outcome.cancelled():
            raise open_verdict(call, "the call was cancelled from inside")
        error = outcome.exception()
        if error is None:
            return outcome.result()
        raise self._translate(channel, call, error) from error

    def _translate(self, channel: GrpcChannel, call: Call, error: BaseException) -> DeliveryError:
        if isinstance(error, GRPCError):
            verdict = self._judge(call, error)
            if not isinstance(verdict, RejectedError) or (verdict.pause and not verdict.only_this_signal):
                self._age.refused(asyncio.get_running_loop().time())
            return verdict
        if isinstance(error, NotProcessedError):
            return RetryableError(legible(str(error)), pause=error.pause)
        # a broken connection, or a peer that does not speak the protocol: the next call starts with a clean one
        self._give_up(channel, call)
        return open_verdict(call, f"{type(error).__name__}: {error}")

    @abstractmethod
    def _judge(self, call: Call, error: GRPCError) -> DeliveryError:
        """The verdict of a status that is not OK."""
        ...

    def _give_up(self, channel: GrpcChannel, call: Call) -> None:
        """Abort the connection of a call. Where another one has taken its place, that one is left alone."""
        if call.processor is not None and call.processor.is_replaced:
            call.processor.close()
        else:
            self._hang_up(channel)

    def _hang_up(self, channel: GrpcChannel) -> None:
        """Abort a channel. A later call may have opened the next one already, which is left alone."""
        if self._channel is channel:
            self._channel = None
        channel.abort()

    def _watch(self, task: asyncio.Future[Any]) -> None:
        """Let a task end before the transport does."""
        self._calls.add(task)
        task.add_done_callback(self._forget)

    def _forget(self, outcome: asyncio.Future[Any]) -> None:
        """Look at the outcome of a call that perhaps no task awaits, or asyncio reports it to the application."""
        self._calls.discard(outcome)
        if not outcome.cancelled():
            outcome.exception()


def open_verdict(call: Call, text: str) -> DeliveryError:
    """The verdict on the batch after a failure without an answer of the collector."""
    return AmbiguousError(legible(text)) if call.may_have_sent else RetryableError(legible(text))


def legible(text: str) -> str:
    """The text of a peer, fit for a log line."""
    return "".join(each if each.isprintable() else "?" for each in text[:_MAX_TEXT])


async def _let_go(calls: Iterable[asyncio.Future[Any]]) -> None:
    """Cancel calls, and give them a moment to reset their streams."""
    waiting = set(calls)
    for task in waiting:
        task.cancel()
    if waiting:
        await asyncio.wait(waiting, timeout=TRANSPORT_CALL_END)
