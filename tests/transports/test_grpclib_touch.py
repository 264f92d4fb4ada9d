"""The insides of grpclib and h2 that `swagent_transports` touches. A failure names the change, and so the code to
look at in `_grpclib*.py` before another version is allowed."""

from __future__ import annotations

import inspect
import random
from typing import Any

import pytest
from grpclib.client import Handler
from grpclib.config import Configuration
from h2.config import H2Configuration
from h2.exceptions import ProtocolError
from hpack import hpack
from hpack.hpack import Decoder, Encoder
from hpack.struct import HeaderTuple
from hyperframe.frame import PingFrame, SettingsFrame

from swagent_transports import _grpclib_headers
from swagent_transports._grpclib_connection import GrpcProtocol
from swagent_transports._rebinding import rebound, silenced


def test_functions_are_given_other_names_and_no_others() -> None:
    quiet = rebound(Encoder.add, log=None)
    assert quiet.__globals__["log"] is None
    assert Encoder.add.__globals__["log"] is not None
    assert [*inspect.signature(quiet).parameters] == [*inspect.signature(Encoder.add).parameters]
    with pytest.raises(AttributeError, match="logger"):
        rebound(Encoder.add, logger=None)
    assert silenced(hpack.decode_integer)(b"\x0a", 5) == hpack.decode_integer(b"\x0a", 5) == (10, 1)


HEADERS = [(":path", "/x"), ("authentication", "sesame"), ("te", "trailers"), ("x" * 200, "y" * 5000)]


def test_headers_of_requests_use_no_table() -> None:
    """So they mean the same on each connection."""
    block = _grpclib_headers.encode_request(HEADERS)
    decoder = Decoder()
    for _ in range(2):
        found: list[Any] = [*decoder.decode(_grpclib_headers.NO_TABLE + block)]
        assert found == HEADERS
    assert not decoder.header_table.dynamic_entries
    assert all(type(each) is not HeaderTuple for each in decoder.decode(block)), "a proxy must not index the token"


@pytest.mark.gate
def test_headers_of_answers_are_read_as_by_the_library() -> None:
    """Blocks that come again, while the table changes beneath them."""
    source = random.Random(7)
    reader, encoder = _grpclib_headers.HeaderReader(), Encoder()
    names, values = ["grpc-status", "a", "b", ":status"], ["0", "200", "x" * 90, "y" * 2000]
    seen: set[bytes] = set()
    again = 0
    for turn in range(2000):
        if turn % 100 == 0:
            encoder.header_table_size = source.choice([0, 100, 1000, 4096])
        pairs = [(source.choice(names), source.choice(values)) for _ in range(source.randrange(1, 4))]
        block = encoder.encode([(name, value, source.random() < 0.2) for name, value in pairs])
        again += block in seen
        seen.add(block)
        assert reader.read(block) == dict(pairs)
    assert again > 100


def test_headers_that_cannot_be_read() -> None:
    for block in (b"\xff", b"\x40", b"\xbe", b"\x00\x7f", b"\x00\x01x\x7f\xff\xff\xff"):
        with pytest.raises(ProtocolError):
            _grpclib_headers.HeaderReader().read(block)


class FakeSocket:
    """A transport of asyncio's whose peer never reads."""

    def __init__(self) -> None:
        self.written = 0
        self.is_aborted = False

    def get_extra_info(self, name: str) -> None:
        """Nothing is known of it."""

    def write(self, data: bytes) -> None:
        self.written += len(data)

    def get_write_buffer_size(self) -> int:
        return self.written

    def is_closing(self) -> bool:
        return self.is_aborted

    def abort(self) -> None:
        self.is_aborted = True

    def close(self) -> None:
        self.is_aborted = True


def connected(transport: FakeSocket) -> GrpcProtocol:
    config = H2Configuration(client_side=True, header_encoding="ascii")
    settings = Configuration().__for_client__()
    protocol = GrpcProtocol(set(), Handler(), settings, config)
    protocol.connection_made(transport)
    return protocol


def test_overlong_frame_is_not_waited_for() -> None:
    transport = FakeSocket()
    protocol = connected(transport)
    protocol.data_received(SettingsFrame(0).serialize())
    assert not transport.is_aborted
    protocol.data_received(b"\x00\x40\x01\x00")
    assert transport.is_aborted, "16,385 bytes are one too many"


def test_nothing_is_raised_after_the_end() -> None:
    """The loop may still deliver what had arrived."""
    transport = FakeSocket()
    protocol = connected(transport)
    protocol.processor.close("test")
    protocol.data_received(SettingsFrame(0).serialize() + PingFrame(0, opaque_data=b"12345678").serialize())
    protocol.connection_lost(None)
    protocol.connection_lost(None)
