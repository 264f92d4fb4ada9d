"""The transports by their names: for each a client that is watched, and a peer that confirms all until it is told."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio

from swagent.abc import Instance
from swagent.config import Config
from swagent.errors import DeliveryError
from swagent_transports.grpc import GrpcTransport
from swagent_transports.http import HttpTransport
from swagent_transports.kafka import KafkaTransport

from . import answers, http_answers
from .client import REQUEST_TIMEOUT, Client, watched
from .h2_peer import H2Peer
from .http_peer import HttpPeer
from .kafka_broker import KafkaBroker

TOKEN = "sesame-7f3a"
LOGIN: dict[str, Any] = {
    "kafka_security_protocol": "sasl_plaintext", "kafka_sasl_mechanism": "plain",
    "kafka_sasl_plain_username": "agent", "kafka_sasl_plain_password": TOKEN,
}  # fmt: skip
LOGINS: dict[str, dict[str, Any]] = {
    "grpc": {"authentication": TOKEN}, "http": {"authentication": TOKEN}, "kafka": LOGIN
}  # fmt: skip
"""The settings by which each says `TOKEN`."""
INSTANCE = Instance("shop", "shop@host", (("language", "python"),))


class HttpClient(Client):
    """One whose records are JSON."""

    RECORD = b'{"traceId":"1"}'


class KafkaClient(Client):
    """One to a cluster."""

    async def probe(self) -> DeliveryError | None:
        """The work of the heartbeat."""
        try:
            await self.run(self.transport.report_properties, INSTANCE)
        except DeliveryError as error:
            return error
        return None

    async def wait_confirmed(self, seconds: float = 20.0) -> None:
        """Probe until the cluster answers, as the heartbeat does after an outage."""
        with anyio.fail_after(seconds):
            while await self.probe() is not None:  # noqa: ASYNC110
                await anyio.sleep(0.1)


def grpc_client(collector: str, *, leaves_files: bool = False, **settings: Any) -> AbstractAsyncContextManager[Client]:
    """A client of a collector over gRPC."""
    return watched(GrpcTransport, config(collector=collector, **settings), leaves_files=leaves_files)


def http_client(collector: str, **settings: Any) -> AbstractAsyncContextManager[Client]:
    """A client of a collector over HTTP."""
    return watched(HttpTransport, config(collector=collector, **settings), HttpClient)


def kafka_client(*servers: str, namespace: str = "", **settings: Any) -> AbstractAsyncContextManager[KafkaClient]:
    """A client of a cluster."""
    where = {"kafka_bootstrap_servers": servers, "kafka_namespace": namespace}
    return watched(KafkaTransport, config(**where, **settings), KafkaClient)


def config(**settings: Any) -> Config:
    return Config(**{"service": "shop", "request_timeout": REQUEST_TIMEOUT, **settings})


CLIENTS: dict[str, Any] = {"grpc": grpc_client, "http": http_client, "kafka": kafka_client}
PEERS: dict[str, Callable[..., Any]] = {
    "grpc": lambda **options: H2Peer(answers.confirm, **options),
    "http": lambda **options: HttpPeer(http_answers.confirm, **options),
    "kafka": KafkaBroker,
}
ANSWERS: dict[str, Any] = {"grpc": answers, "http": http_answers}
