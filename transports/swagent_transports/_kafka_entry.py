"""The way into a Kafka cluster: connections to the servers that we know, and to the brokers that these name."""
# ruff: noqa: SLF001

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from aiokafka.errors import (  # pyright: ignore[reportMissingTypeStubs]
    IllegalSaslStateError,
    KafkaError,
    SaslAuthenticationFailed,
    StaleMetadata,
    UnsupportedSaslMechanismError,
)

from ._dialling import dial
from ._kafka_connection import Connection

if TYPE_CHECKING:
    from ssl import SSLContext

_LOGIN_REFUSED = (SaslAuthenticationFailed, UnsupportedSaslMechanismError, IllegalSaslStateError)
_Connection: Any = Connection


class _Dialler:
    """The loop as a connection needs it, except that it does not wait for a name that is looked up, see `_resolver`."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)

    async def create_connection(
        self, factory: Callable[[], asyncio.BaseProtocol], host: str, port: int, *, ssl: SSLContext | None
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
        return await dial(factory, host, port, ssl)


async def _connect(host: str, port: int, **options: Any) -> Any:
    connection = _Connection(host, port, **options)
    connection._loop = _Dialler(connection._loop)
    await connection.connect()
    return connection


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
            return await _connect(host, port, request_timeout_ms=share, **options)
        except (OSError, KafkaError, asyncio.TimeoutError) as error:
            failures.append(error)
    raise next((error for error in failures if isinstance(error, _LOGIN_REFUSED)), failures[-1])


async def connect_to_broker(client: Any, node_id: int, group: Any, options: Mapping[str, Any]) -> Any:
    """Connect, for aiokafka's client, to a broker that the cluster has named, unless there is a connection.

    :param options: what aiokafka's connection takes
    :returns: the AIOKafkaConnection, which the client keeps; None when that fails
    """
    key = (node_id, group)
    try:
        async with client._get_conn_lock:
            found = client._conns.get(key)
            if found is None or not found.connected():
                client._conns.pop(key, None)
                broker = client.cluster.broker_metadata(node_id)
                if broker is None:
                    raise StaleMetadata(f"nothing is known of broker {node_id}")
                found = client._conns[key] = await _connect(
                    broker.host,
                    broker.port,
                    request_timeout_ms=client._request_timeout_ms,
                    on_close=client._on_connection_closed,
                    max_idle_ms=client._connections_max_idle_ms,
                    **options,
                )
            return found
    except (OSError, asyncio.TimeoutError, KafkaError):
        # what is known of the cluster may be out of date
        client.force_metadata_update()
        return None
