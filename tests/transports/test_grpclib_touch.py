"""The insides of grpclib and h2 that `swagent_transports` touches. A failure names the change, and so the code to
look at in `_grpclib*.py` before another version is allowed."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import pytest
from grpclib.client import Channel, Handler
from grpclib.config import Configuration
from grpclib.exceptions import StreamTerminatedError
from grpclib.protocol import EventsProcessor, H2Protocol
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import Event
from h2.exceptions import ProtocolError
from h2.frame_buffer import FrameBuffer
from hpack import hpack
from hpack.hpack import Decoder, Encoder
from hpack.struct import HeaderTuple
from hpack.table import HeaderTable
from hyperframe.frame import GoAwayFrame, PingFrame, SettingsFrame

from swagent_transports import _grpclib_connection, _grpclib_headers, _grpclib_processor
from swagent_transports._grpclib import GrpcChannel
from swagent_transports._grpclib_connection import GrpcProtocol
from swagent_transports._grpclib_processor import GrpcProcessor
from swagent_transports._grpclib_slices import SlicedFrames
from swagent_transports._grpclib_streams import NotProcessedError
from swagent_transports._rebinding import rebound, silenced


def test_version() -> None:
    parts = tuple(int(part) for part in version("grpclib").split(".")[:3])
    assert (0, 4, 9) <= parts < (0, 5), "only grpclib 0.4.9 to below 0.5 was looked at"


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(GrpcChannel, Channel), (GrpcProtocol, H2Protocol), (GrpcProcessor, EventsProcessor),
     (NotProcessedError, StreamTerminatedError), (SlicedFrames, FrameBuffer)],
)  # fmt: skip
def test_every_method_that_we_override_is_there(ours: type, theirs: type) -> None:
    inherited = {name for name in vars(theirs) if callable(getattr(theirs, name))}
    new = {"process_go_away", "connect", "begin", "abort", "request_block", "wait_greeted", "take_pause", "retire"}
    new |= {
        "_close_retired",
        "_forget_frames",
        "_take_slice",
        "_read",
        "_end",
        "begin_slice",
        "_count",
        "forget_frames",
    }
    new |= {"_take_plain", "_take_window", "_weigh", "renew", "_renew", "replace", "_note_idle"}
    for name, member in vars(ours).items():
        if inspect.isfunction(member) and name not in new:
            assert name in inherited or hasattr(theirs, name), f"{theirs.__name__}.{name} is gone: ours is never called"


REASONS: list[tuple[Any, str, str]] = [
    (EventsProcessor.process, "raise NotImplementedError(event)", "unknown events raise no more: process"),
    (Encoder.add, "log.debug(", "hpack logs no headers any more: without_logs"),
    (Encoder.encode, "log.debug(", "hpack logs no headers any more: without_logs"),
    (HeaderTable._shrink, "log.debug(", "hpack logs no headers any more: without_logs"),
    (Decoder.decode, "log.debug(", "hpack logs no headers any more: without_logs"),
    (hpack.encode_integer, "log.debug(", "hpack logs no numbers any more: silenced"),
    (hpack.decode_integer, "log.debug(", "hpack logs no numbers any more: silenced"),
    (EventsProcessor.process_connection_terminated, "self.close(", "a GOAWAY does not close any more: process_go_away"),
    (H2Connection._receive_goaway_frame, "clear_outbound_data_buffer", "h2 survives a GOAWAY now: process_go_away"),
    (H2Connection._receive_frame, "repr(frame)", "h2 shows no frame any more that nobody looks at"),
]


@pytest.mark.parametrize(("function", "line", "change"), REASONS, ids=lambda value: getattr(value, "__qualname__", ""))
def test_reasons_for_the_touch_still_hold(function: Callable[..., Any], line: str, change: str) -> None:
    assert line in inspect.getsource(function), change


def test_events_are_dispatched_by_their_class() -> None:
    protocol = connected(FakeSocket())
    assert protocol.processor.processors.keys() > {_grpclib_processor._GoAway}
    processed: list[Event] = []
    protocol.processor.process_go_away = processed.append  # type: ignore[method-assign, assignment]
    protocol.processor.processors[_grpclib_processor._GoAway] = processed.append
    protocol.data_received(SettingsFrame(0).serialize() + GoAwayFrame(0, last_stream_id=7).serialize())
    assert [getattr(event, "last_stream_id", None) for event in processed] == [7]


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


@pytest.mark.parametrize("kind", ["PING", "SETTINGS"])
def test_peer_that_asks_without_reading_is_cut_off(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_grpclib_connection, "MAX_UNREAD", 100_000)
    transport = FakeSocket()
    protocol = connected(transport)
    frame = PingFrame(0, opaque_data=b"12345678") if kind == "PING" else SettingsFrame(0, settings={3: 100})
    flood = frame.serialize() * 50  # less than a slice, since no loop runs here
    for _ in range(10_000):
        protocol.data_received(flood)
        if transport.is_aborted:
            break
    assert transport.is_aborted
    assert transport.written < 120_000


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
