"""Until a peer has greeted, with the SETTINGS that open each HTTP/2 connection, it hears neither token nor records."""

from __future__ import annotations

import anyio
import pytest
from h2.errors import ErrorCodes
from h2.settings import SettingCodes
from hyperframe.frame import GoAwayFrame, SettingsFrame

from faults.covering import covers
from kit.answers import confirm
from kit.client import until
from kit.each import grpc_client
from kit.h2_peer import H2Peer
from kit.servers import Parrot
from swagent.errors import RetryableError

pytestmark = pytest.mark.anyio

TOKEN = "sesame-7f3a"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
STRANGERS = {
    "silence": b"",
    "HTTP/1": b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
    "HTML": b"HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\n\r\n<html>sorry</html>",
    "SSH": b"SSH-2.0-OpenSSH_9.2\r\n",
    "a TLS alert": b"\x15\x03\x01\x00\x02\x02\x46",
    "Kafka": b"\x00\x00\x00\x06\x00\x00\x00\x01\x00\x23",
    "garbage": b"\xff\x00" * 100,
    "a PING first": b"\x00\x00\x08\x06\x00\x00\x00\x00\x0012345678",
}


@pytest.mark.one_loop
@covers("F14", "grpc")
@pytest.mark.parametrize("hang_up", [False, True], ids=["stays", "hangs up"])
@pytest.mark.parametrize("name", STRANGERS)
async def test_another_protocol_hears_no_more_than_a_greeting(name: str, hang_up: bool) -> None:
    with Parrot(STRANGERS[name], hang_up=hang_up) as peer:
        async with grpc_client(peer.address, request_timeout=0.15, authentication=TOKEN) as client:
            error = await client.verdict(b"record")
            assert isinstance(error, RetryableError), "nothing was sent, so the records may be sent again"
            assert not await client.tasks()
        await until(lambda: len(peer.heard) >= len(PREFACE))
        assert peer.heard.startswith(PREFACE)
        assert TOKEN.encode() not in peer.heard
        # no HEADERS frame, and so no DATA
        assert set(frame_types(bytes(peer.heard))) <= {SettingsFrame.type, GoAwayFrame.type, 6, 8}


def frame_types(heard: bytes) -> list[int]:
    found, position = [], len(PREFACE)
    while position + 9 <= len(heard):
        found.append(heard[position + 3])
        position += 9 + int.from_bytes(heard[position : position + 3], "big")
    return found


async def test_call_goes_out_when_the_greeting_comes_late() -> None:
    with H2Peer(confirm, greets=False) as peer:
        async with grpc_client(peer.address) as client, anyio.create_task_group() as group:

            async def greet() -> None:
                await until(lambda: peer.links)
                assert not peer.calls
                await peer.thread.call(peer.links[0].greet)

            group.start_soon(greet)
            assert await client.verdicts(3) == [None] * 3
        assert len(peer.links) == 1


@covers("F16", "grpc")
async def test_limits_of_the_greeting_hold_for_the_first_call() -> None:
    settings = {SettingCodes.MAX_CONCURRENT_STREAMS: 0}
    with H2Peer(confirm, settings=settings) as peer:
        async with grpc_client(peer.address, request_timeout=0.2) as client:
            assert isinstance(await client.verdict(), RetryableError)
        assert not peer.calls


@covers("F11", "grpc")
async def test_goaway_in_place_of_a_greeting_leaves_the_batch_unsent() -> None:
    with Parrot(GoAwayFrame(0, error_code=ErrorCodes.ENHANCE_YOUR_CALM).serialize()) as peer:
        async with grpc_client(peer.address) as client:
            error = await client.verdict()
            assert isinstance(error, RetryableError)
            assert error.pause == 5.0
