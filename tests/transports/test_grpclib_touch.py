"""The insides of grpclib and h2 that `swagent_transports` touches. A failure names the change, and so the code to
look at in `_grpclib*.py` before another version is allowed."""

from __future__ import annotations

import inspect
import random
from typing import Any

import pytest
from h2.exceptions import ProtocolError
from hpack import hpack
from hpack.hpack import Decoder, Encoder
from hpack.struct import HeaderTuple

from swagent_transports import _grpclib_headers
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
