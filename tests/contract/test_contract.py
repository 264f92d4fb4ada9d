"""Each transport keeps the promises of every transport, towards a server that does as it is ordered.

What arrives by OTLP is read by the official package, and known again by its ids.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from grpclib.const import Status

from kit import answers, http_answers
from kit.h2_peer import H2Peer
from kit.http_peer import HttpPeer
from kit.otlp import http_reply, requests_of, spans_in
from otlp.samples import numbered
from swagent.config import Config
from swagent.errors import AmbiguousError, RetryableError
from swagent.runtime.transport_choice import find_transport
from swagent.runtime.transport_runner import transport_runner
from swagent.signals import Signal
from swagent.testing import check_transport
from swagent.w3c_ids import span_id_of, trace_id_of

pytestmark = pytest.mark.anyio
SEGMENTS = b"/skywalking.v3.TraceSegmentReportService/collect"
# by the ids of its only span
KNOWN = {
    (trace_id_of(f"{number + 1:032x}"), span_id_of(f"{number + 7:032x}", 0)): numbered(number) for number in range(300)
}


def known(server: Any) -> Sequence[bytes]:
    return [KNOWN[span.trace_id, span.span_id] for span in spans_in(requests_of(server))]


def messages(server: H2Peer) -> Sequence[bytes]:
    return [each for call in server.calls if call.headers[b":path"] == SEGMENTS for each in call.messages]


def as_json(number: int) -> bytes:
    return b'{"traceId":"%d","service":"checked"}' % number


OVER_HTTP2 = (H2Peer, answers.confirm, answers.trailers_only(Status.UNAUTHENTICATED), answers.silent)
OVER_HTTP1 = (HttpPeer, http_answers.confirm, http_answers.status(400), http_answers.silent)
# a server, how it confirms, refuses and hangs; what it has received, and the n-th record
TRANSPORTS: dict[str, tuple[tuple[Any, ...], Callable[[Any], Sequence[bytes]], Callable[[int], bytes]]] = {
    "grpc": (OVER_HTTP2, messages, numbered),
    "http": (OVER_HTTP1, HttpPeer.records, as_json),
    # an empty message, and an empty body, are replies that say nothing against
    "otlp": (OVER_HTTP2, known, numbered),
    "otlp-http": ((HttpPeer, http_reply(b""), *OVER_HTTP1[2:]), known, numbered),
}


class ScriptedPeer:
    """A server in each of the states that `check_transport` asks for."""

    def __init__(self, protocol: str) -> None:
        (kind, *behaviours), self._received, _ = TRANSPORTS[protocol]
        self.server: Any = kind(behaviours[0])
        self._behaviours = behaviours
        self._config: dict[str, Any] = {"service": "checked", "protocol": protocol, "request_timeout": 1.0}
        self._is_up = True

    def connect(self) -> Any:
        config = Config(collector=self.server.address, **self._config)
        return find_transport(config)(config, config.addresses[0])

    async def serve(self) -> None:
        await self._behave(0)

    async def refuse(self) -> None:
        await self._behave(1)

    async def hang(self) -> None:
        await self._behave(2)

    async def vanish(self) -> None:
        self._is_up = False
        await self.server.thread.call(self.server.stop)

    async def received(self, signal: Signal) -> Sequence[bytes]:
        assert signal is Signal.SEGMENT
        return self._received(self.server)

    async def _behave(self, state: int) -> None:
        self.server.behave = self._behaviours[state]
        if not self._is_up:
            self._is_up = True
            await self.server.thread.call(self.server.start)


async def run_here(function: Callable[..., Awaitable[None]], *args: Any) -> None:
    await function(*args)


@pytest.mark.parametrize("protocol", TRANSPORTS)
async def test_contract(protocol: str) -> None:
    peer = ScriptedPeer(protocol)
    sample = TRANSPORTS[protocol][2]
    with peer.server:
        runtimes = peer.connect().runtimes
        if "trio" in runtimes:
            await check_transport(peer, sample, run_here)
            return
        async with transport_runner(runtimes) as run:
            await check_transport(peer, sample, run)


async def test_h2_silence_is_survived() -> None:
    """The suite's `hang` twice in a row, so that the second call meets what the first one left."""
    peer = ScriptedPeer("grpc")
    with peer.server:
        await peer.hang()
        transport = peer.connect()
        async with transport_runner(transport.runtimes) as run:
            for _ in range(2):
                with pytest.raises((AmbiguousError, RetryableError), match="no answer within"):
                    await run(transport.send, Signal.SEGMENT, [numbered(1)])
            await peer.serve()
            await run(transport.send, Signal.SEGMENT, [numbered(2)])
            assert numbered(2) in await peer.received(Signal.SEGMENT)
            await run(transport.aclose)
