"""Another protocol on the port: a verdict in time, and over gRPC and Kafka it hears neither token nor records."""

from __future__ import annotations

import pytest
from hyperframe.frame import GoAwayFrame, PingFrame, SettingsFrame, WindowUpdateFrame

from faults.covering import covers
from kit.client import until
from kit.each import CLIENTS, LOGINS, TOKEN
from kit.servers import Parrot
from swagent.errors import AmbiguousError, RetryableError

pytestmark = pytest.mark.anyio

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
STRANGERS = {
    "silence": b"",
    "HTTP/1": b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
    "HTML": b"<html>bad gateway</html>",
    "HTTP/2": b"\x00\x00\x00\x04\x00\x00\x00\x00\x00",
    "a PING first": b"\x00\x00\x08\x06\x00\x00\x00\x00\x0012345678",
    "SSH": b"SSH-2.0-OpenSSH_9.2\r\n",
    "a TLS alert": b"\x15\x03\x01\x00\x02\x02\x46",
    "Kafka": b"\x00\x00\x00\x06\x00\x00\x00\x01\x00\x23",
    "garbage": b"\xff" * 1000,
    "nothing in a frame of Kafka's": b"\x00\x00\x00\x00",
    "an answer to no request of Kafka's": b"\x00\x00\x00\x04\x7f\xff\xff\xff",
}
CASES = [
    (transport, name) for transport in CLIENTS for name in STRANGERS if (transport, name) not in [
        ("http", "HTTP/1"), ("grpc", "HTTP/2"),
    ]
]  # fmt: skip


@pytest.mark.one_loop
@covers("F14")
@pytest.mark.parametrize("hang_up", [False, True], ids=["stays", "hangs up"])
@pytest.mark.parametrize(("transport", "name"), CASES)
async def test_another_protocol_hears_no_secret(transport: str, name: str, hang_up: bool) -> None:
    with Parrot(STRANGERS[name], hang_up=hang_up) as peer:
        async with CLIENTS[transport](peer.address, request_timeout=0.15, **LOGINS[transport]) as client:
            error = await client.verdict(b"a record")
            # where nothing was sent, the records may be sent again
            assert type(error) is (AmbiguousError if transport == "http" else RetryableError), error
            assert not await client.tasks()
    if transport == "grpc":
        await until(lambda: len(peer.heard) >= len(PREFACE))
        assert peer.heard.startswith(PREFACE)
        # no HEADERS frame, and so no DATA
        greeting = {each.type for each in (SettingsFrame, GoAwayFrame, PingFrame, WindowUpdateFrame)}
        assert set(frame_types(bytes(peer.heard))) <= greeting
    elif transport == "kafka":
        assert TOKEN.encode() not in peer.heard
        assert b"a record" not in peer.heard


def frame_types(heard: bytes) -> list[int]:
    found, position = [], len(PREFACE)
    while position + 9 <= len(heard):
        found.append(heard[position + 3])
        position += 9 + int.from_bytes(heard[position : position + 3], "big")
    return found
