"""The transports by their names: for each a client that is watched, and a peer that confirms all until it is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import answers, http_answers
from .client import grpc_client
from .h2_peer import H2Peer
from .http_client import http_client
from .http_peer import HttpPeer
from .kafka_broker import KafkaBroker
from .kafka_client import kafka_client

CLIENTS: dict[str, Any] = {"grpc": grpc_client, "http": http_client, "kafka": kafka_client}
PEERS: dict[str, Callable[..., Any]] = {
    "grpc": lambda **options: H2Peer(answers.confirm, **options),
    "http": lambda **options: HttpPeer(http_answers.confirm, **options),
    "kafka": KafkaBroker,
}
ANSWERS: dict[str, Any] = {"grpc": answers, "http": http_answers}
