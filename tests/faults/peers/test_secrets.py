"""An application that has all of its loggers at DEBUG finds neither the token nor the password in its log."""

from __future__ import annotations

import logging

import pytest
from h2.settings import SettingCodes
from hpack import Encoder
from hpack.huffman import HuffmanEncoder
from hpack.huffman_constants import REQUEST_CODES, REQUEST_CODES_LENGTH
from hyperframe.frame import SettingsFrame

from faults.covering import covers
from kit import http_answers
from kit.answers import confirm, first, frame
from kit.client import grpc_client
from kit.h2_peer import H2Peer
from kit.http_client import http_client
from kit.http_peer import HttpPeer
from kit.kafka_client import kafka_client
from kit.kafka_peer import AUTHENTICATE, KafkaPeer

pytestmark = pytest.mark.anyio

TOKEN = "sesame-7f3a"
ENCODED = HuffmanEncoder(REQUEST_CODES, REQUEST_CODES_LENGTH).encode(TOKEN.encode())


@pytest.fixture
def everything(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """The log of an application that wants to know it all."""
    caplog.set_level(logging.DEBUG)
    for name in ("swagent", "hpack", "httpcore", "httpx", "aiokafka", "grpclib", "asyncio"):
        caplog.set_level(logging.DEBUG, logger=name)
    return caplog


def assert_kept(log: pytest.LogCaptureFixture) -> None:
    logging.getLogger("shop").debug("the application listens")
    # the peers' own log lines, in their thread, show what they heard
    ours = [each.getMessage() for each in log.records if each.threadName != "loop-thread"]
    assert ours
    for line in ours:
        assert TOKEN not in line
        assert repr(ENCODED)[2:-1] not in line, "Huffman's code can be read by any peer"


# a header table that shrinks gives up what it holds, one by one
SHRINK = SettingsFrame(0, settings={SettingCodes.HEADER_TABLE_SIZE: 40})
GROW = SettingsFrame(0, settings={SettingCodes.HEADER_TABLE_SIZE: 4096})


@covers("F12", "grpc")
async def test_grpc(everything: pytest.LogCaptureFixture) -> None:
    with H2Peer(first(confirm, frame(SHRINK, GROW))) as peer:
        async with grpc_client(peer.address, authentication=TOKEN) as client:
            for _ in range(3):
                assert await client.verdict() is None
        assert {call.headers[b"authentication"] for call in peer.calls} == {TOKEN.encode()}
    assert_kept(everything)


async def test_hpack_still_speaks_for_others(everything: pytest.LogCaptureFixture) -> None:
    """The silent encoder is on the connection, and gone with it."""
    with H2Peer(confirm) as peer:
        async with grpc_client(peer.address, authentication=TOKEN) as client:
            await client.send()
            mine = Encoder()
            mine.encode([("x-mine", "of the application")])
            assert "of the application" in everything.text
            everything.clear()
    Encoder().encode([("x-mine", "of the application")])
    assert "of the application" in everything.text
    assert not logging.getLogger("hpack.hpack").filters


async def test_http(everything: pytest.LogCaptureFixture) -> None:
    with HttpPeer(http_answers.confirm) as peer:
        async with http_client(peer.address, authentication=TOKEN) as client:
            assert await client.verdict() is None
        assert peer.calls[0].headers["authentication"] == TOKEN
    assert_kept(everything)


@pytest.mark.parametrize("refused", [False, True], ids=["lets us in", "refuses"])
async def test_kafka(everything: pytest.LogCaptureFixture, refused: bool) -> None:
    login = {
        "kafka_security_protocol": "sasl_plaintext", "kafka_sasl_mechanism": "plain",
        "kafka_sasl_plain_username": "agent", "kafka_sasl_plain_password": TOKEN,
    }  # fmt: skip
    with KafkaPeer() as peer:
        peer.codes[AUTHENTICATE] = 58 if refused else 0
        async with kafka_client(peer.address, **login) as client:
            assert (await client.verdict(b"a record") is None) is not refused
        assert TOKEN.encode() in peer.heard
    assert "aiokafka" not in {each.name.partition(".")[0] for each in everything.records}, "it logs each request"
    assert_kept(everything)
