"""A transport of OTLP to a peer that behaves as ordered, over gRPC or HTTP, in words that both share."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from grpclib.const import Status

from kit import answers, http_answers
from kit.client import REQUEST_TIMEOUT, Sender, quiet_process
from kit.h2_peer import H2Peer
from kit.http_peer import HttpPeer
from kit.otlp import grpc_reply, http_reply
from swagent.backend import Runner
from swagent.config import Config
from swagent.runtime.transport_runner import transport_runner
from swagent_transports.otlp import OtlpTransport
from swagent_transports.otlp_http import OtlpHttpTransport

TRANSPORTS: dict[str, Any] = {"otlp": OtlpTransport, "otlp-http": OtlpHttpTransport}


class Client(Sender):
    """One and its peer."""

    def __init__(self, peer: Any, transport: Any, run: Runner) -> None:
        super().__init__(transport, run)
        self.peer = peer

    def reply(self, payload: bytes) -> None:
        """Let the peer answer so."""
        self.peer.behave = grpc_reply(payload) if isinstance(self.peer, H2Peer) else http_reply(payload)


@asynccontextmanager
async def client_of(protocol: str, **settings: Any) -> AsyncGenerator[Client]:
    """A transport to a peer that confirms all."""
    kind = TRANSPORTS[protocol]
    server = (
        H2Peer(answers.confirm)
        if protocol == "otlp"
        else HttpPeer(http_answers.raw(http_answers.answer(200, body=b"")))
    )
    with server as peer:
        config = Config(service="checked", collector=peer.address, **{"request_timeout": REQUEST_TIMEOUT, **settings})
        async with transport_runner(kind.runtimes) as run:
            transport = kind(config, config.addresses[0])
            with quiet_process():
                yield Client(peer, transport, run)
                await run(transport.aclose)


def with_retry_info(status: Status, seconds: int) -> Any:
    """An answer whose status has a google.rpc.RetryInfo."""
    details = (b"grpc-status-details-bin", answers.retry_info(status, seconds))
    return answers.ending([*answers.trailers(status), details])
