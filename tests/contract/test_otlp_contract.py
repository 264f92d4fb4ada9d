"""The transports of OTLP keep the promises of every transport. What arrives is read by the official package, and known
again by its ids."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

import pytest
from grpclib.const import Status

from kit import answers, http_answers
from kit.h2_peer import H2Peer
from kit.http_peer import HttpPeer
from kit.otlp import requests_of, spans_in
from otlp.samples import numbered
from swagent.config import Config
from swagent.runtime.transport_runner import transport_runner
from swagent.signals import Signal
from swagent.testing import check_transport
from swagent.w3c_ids import span_id_of, trace_id_of
from swagent_transports.otlp import OtlpTransport
from swagent_transports.otlp_http import OtlpHttpTransport

pytestmark = pytest.mark.anyio
# by the ids of its only span
KNOWN = {
    (trace_id_of(f"{number + 1:032x}"), span_id_of(f"{number + 7:032x}", 0)): numbered(number) for number in range(300)
}


class OtlpPeer:
    """A collector of OTLP, in each of the states that `check_transport` asks for."""

    def __init__(self, server: H2Peer | HttpPeer) -> None:
        self._server: Any = server
        self._is_up = True
        self._is_grpc = isinstance(server, H2Peer)

    def connect(self) -> Any:
        config = Config(service="checked", collector=self._server.address, request_timeout=1.0)
        return (OtlpTransport if self._is_grpc else OtlpHttpTransport)(config, config.addresses[0])

    async def serve(self) -> None:
        # an empty message, and an empty body, are replies that say nothing against
        await self._behave(answers.confirm if self._is_grpc else http_answers.raw(http_answers.answer(200, body=b"")))

    async def refuse(self) -> None:
        unauthenticated = answers.trailers_only(Status.UNAUTHENTICATED)
        await self._behave(unauthenticated if self._is_grpc else http_answers.status(400))

    async def hang(self) -> None:
        await self._behave(answers.silent if self._is_grpc else http_answers.silent)

    async def vanish(self) -> None:
        self._is_up = False
        await self._server.thread.call(self._server.stop)

    async def received(self, signal: Signal) -> Sequence[bytes]:
        assert signal is Signal.SEGMENT
        return [KNOWN[span.trace_id, span.span_id] for span in spans_in(requests_of(self._server))]

    async def _behave(self, behaviour: Any) -> None:
        self._server.behave = behaviour
        if not self._is_up:
            self._is_up = True
            await self._server.thread.call(self._server.start)


@pytest.fixture
def grpc_peer() -> Iterator[OtlpPeer]:
    with H2Peer(answers.confirm) as server:
        yield OtlpPeer(server)


@pytest.fixture
def http_peer() -> Iterator[OtlpPeer]:
    with HttpPeer(http_answers.confirm) as server:
        yield OtlpPeer(server)


async def run_here(function: Callable[..., Awaitable[None]], *args: Any) -> None:
    await function(*args)


async def test_otlp_over_grpc_keeps_the_contract(grpc_peer: OtlpPeer) -> None:
    async with transport_runner(OtlpTransport.runtimes) as run:
        await check_transport(grpc_peer, numbered, run)


async def test_otlp_over_http_keeps_the_contract(http_peer: OtlpPeer) -> None:
    await check_transport(http_peer, numbered, run_here)
