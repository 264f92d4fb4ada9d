"""The way into a Kafka cluster: the first connection."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from aiokafka import conn  # pyright: ignore[reportMissingTypeStubs]
from aiokafka.errors import (  # pyright: ignore[reportMissingTypeStubs]
    IllegalSaslStateError,
    KafkaError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanismError,
)

_LOGIN_REFUSED = (SaslAuthenticationFailed, UnsupportedSaslMechanismError, IllegalSaslStateError)
_connections: Any = conn


async def connect_to_one(hosts: Sequence[tuple[str, int, int]], milliseconds: int, options: Mapping[str, Any]) -> Any:
    """Connect and log in to the first server that lets us.

    :param hosts: name, port and address family of each server
    :param milliseconds: for all of them; each has its share, or a silent one would take it all
    :param options: what aiokafka's connection takes
    :returns: the AIOKafkaConnection
    :raises Exception: why it failed; of several servers' reasons the one that says most
    """
    share = max(1, milliseconds // len(hosts))
    failures: list[Exception] = []
    for host, port, _ in hosts:
        try:
            return await _connections.create_conn(host, port, request_timeout_ms=share, **options)
        except (OSError, KafkaError, asyncio.TimeoutError) as error:
            failures.append(error)
    raise next((error for error in failures if isinstance(error, _LOGIN_REFUSED)), failures[-1])
