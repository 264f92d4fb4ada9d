"""The answers of a collector: any bytes at all, over a real connection, to the real transports.

The collector waits for the batch, says its bytes and hangs up. The outcome must be a verdict, and nothing may
reach the loop's exception handler.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from swagent.abc import Transport
from swagent.config import Config
from swagent.errors import DeliveryError
from swagent.signals import Signal
from swagent_transports.grpc import GrpcTransport
from swagent_transports.http import HttpTransport

# the SETTINGS without which a client does not begin
_GREETING = b"\0\0\0\x04\0\0\0\0\0"
_RECORD = b"the record of the batch"
# a call ends as soon as the collector has hung up; this is for one that does not
_TIMEOUT = 5.0
_MAX_PAUSE = 300.0


def grpc_reply(data: bytes) -> None:
    """HTTP/2 frames, and the gRPC message in them."""
    asyncio.run(_converse(GrpcTransport, data, _GREETING))


def http_reply(data: bytes) -> None:
    """An HTTP/1.1 response."""
    asyncio.run(_converse(HttpTransport, data))


async def _converse(kind: Callable[[Config, Any], Transport], data: bytes, greeting: bytes = b"") -> None:
    problems: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context))

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            writer.write(greeting)
            await reader.readuntil(_RECORD)
            writer.write(data)
            await writer.drain()
            writer.close()
        except (OSError, asyncio.IncompleteReadError):
            writer.transport.abort()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    config = Config(service="fuzz", collector=f"127.0.0.1:{port}", request_timeout=_TIMEOUT)
    transport = kind(config, config.addresses[0])
    began = asyncio.get_running_loop().time()
    verdict = None
    try:
        await transport.send(Signal.SEGMENT, [_RECORD])
    except DeliveryError as error:
        verdict = error
    finally:
        took = asyncio.get_running_loop().time() - began
        await transport.aclose()
        server.close()
        await asyncio.sleep(0)
    assert took < _TIMEOUT, "the collector hung up, and the call went on"
    assert 0.0 <= getattr(verdict, "pause", 0.0) <= _MAX_PAUSE
    assert str(verdict).isprintable(), "what a peer wrote goes into a log line"
    assert not problems, f"the application's exception handler heard of {problems}"
