"""grpclib's channel and call, hardened. Every touch of grpclib's internals is here, in `_grpclib_connection`, in
`_grpclib_slices` and in `_grpclib_processor`; `tests/transports/test_grpclib_touch.py` fails when grpclib changes.

grpclib 0.4 lacks these things, which an application's process needs:

* A frame that it does not know, or a 1xx answer, raises inside `data_received` and so lands in the *application's* loop
  exception handler. Here such events are ignored, and bytes that h2 cannot digest close the connection.
* `send_message` writes one message at a time. A batch goes out as one write of many length-prefixed messages.
* `recv_message` buffers whatever length a reply declares, and h2 whatever length a frame declares. Here both are capped
  before they are read, and so is what a peer makes us answer (pings, settings) without reading it, and the number of
  frames that it sends without an answer.
* All that has arrived is worked through in one callback: thousands of frames, or compressed headers that take a tenth
  of a second to unpack. Here it goes slice by slice, and a single frame that takes too long is refused, see
  `_grpclib_slices`.
* A stream that the peer provably did not process (GOAWAY with a lower last stream id, REFUSED_STREAM) is treated as
  one that it may have. Here it is not, since such a batch may be sent again.
* A graceful GOAWAY ends all calls at once. Here the connection retires: the calls that the peer took finish on it. A
  peer that asks for calm with it is left alone for a while.
* The first call is sent before the peer has said anything. Here its SETTINGS are waited for, so that a port where
  something else listens hears neither token nor records.
* hpack logs every header at level DEBUG. Here it logs nothing.
* A call does not notice when its stream ends without a status, when its answer comes before all was sent, or when the
  connection breaks while it waits for its turn; and a complete answer is thrown away when the connection breaks behind
  it. Here each call ends as soon as its outcome is known, and what is answered stays answered.
* The loop's own resolver runs in a thread that the loop waits for. Here the loop does not wait, see `_resolver`.
* `Channel.close()` lets asyncio drain the write buffer first, which a dead peer never does. Here it is aborted.
"""

# ruff: noqa: SLF001
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from grpclib.client import Channel, Handler
from grpclib.config import Configuration
from grpclib.const import Cardinality
from grpclib.encoding.base import CodecBase
from grpclib.protocol import H2Protocol
from grpclib.protocol import Stream as H2Stream

from ._dialling import dial
from ._grpclib_connection import GrpcProtocol
from ._grpclib_processor import NotProcessedError
from ._retry_info import read_retry_delay

if TYPE_CHECKING:
    from ssl import SSLContext

MAX_REPLY = 256 * 1024
# the smallest windows that HTTP/2 allows: what a hostile peer can make us buffer unread
_CONFIGURATION = Configuration(http2_connection_window_size=65_535, http2_stream_window_size=65_535)
_PREFIX = struct.Struct(">xI")


class ReplyTooLargeError(Exception):
    """The peer announced a reply beyond the cap, or a compressed one."""


class _RawCodec(CodecBase):
    """Lets bytes pass: records are encoded already, replies are read by `_receive_reply`."""

    @property
    def __content_subtype__(self) -> str:
        return "proto"

    def encode(self, message: Any, message_type: Any) -> bytes:  # noqa: ARG002
        return bytes(message)

    def decode(self, data: bytes, message_type: Any) -> bytes:  # noqa: ARG002
        return data


class GrpcChannel(Channel):
    """One HTTP/2 connection to one collector, dialled anew by the next call after it broke or retired."""

    def __init__(self, host: str, port: int, context: SSLContext | None) -> None:
        super().__init__(host, port, ssl=context, codec=_RawCodec(), config=_CONFIGURATION)
        # the connection in use, and those that retire
        self._open: set[GrpcProtocol] = set()
        self._is_aborted = False

    def _protocol_factory(self) -> H2Protocol:
        return GrpcProtocol(self._open, Handler(), self._config, self._h2_config)

    async def _create_connection(self) -> H2Protocol:
        context: SSLContext | None = cast("Any", self._ssl)
        _, dialled = await dial(self._protocol_factory, self._host or "", self._port or 0, context)
        protocol = cast("GrpcProtocol", dialled)
        try:
            if self._is_aborted:
                raise ConnectionAbortedError("given up while it was dialled")
            await protocol.processor.wait_greeted()
        except BaseException:
            protocol.processor.close("given up before it greeted")
            raise
        return protocol

    async def connect(self) -> GrpcProtocol:
        """Dial, unless connected. Nothing of any call is sent by this.

        :raises OSError: when that fails, or when the channel is aborted meanwhile
        :raises NotProcessedError: when the peer asked for calm, or speaks no HTTP/2
        """
        last = cast("GrpcProtocol | None", self._protocol)
        if last is not None and (pause := last.processor.take_pause()):
            raise NotProcessedError("the collector asked to be left alone", pause)
        if not self._is_aborted:
            protocol = await self.__connect__()
            if not self._is_aborted:
                return cast("GrpcProtocol", protocol)
            self.abort()
        raise ConnectionAbortedError("given up while it was dialled")

    def abort(self) -> None:
        """Drop every connection and what is in its buffers, now and for ever."""
        self._is_aborted = True
        for protocol in tuple(self._open):
            protocol.processor.close()
        self.close()


class Progress:
    """How far a call came."""

    stream: H2Stream | None = None

    @property
    def may_have_sent(self) -> bool:
        """Whether bytes of the batch have left."""
        return self.stream is not None and self.stream.data_sent > 0

    @property
    def retry_delay(self) -> float | None:
        """Seconds that the peer asked for in its status, if it did."""
        fields: list[tuple[str, str]] = (self.stream and (self.stream.trailers or self.stream.headers)) or []
        return read_retry_delay(dict(fields).get("grpc-status-details-bin", ""))


# Of most records. To find one takes a third of what packing one does.
_SHORT = tuple(map(_PREFIX.pack, range(2048)))


def pack(records: Sequence[bytes]) -> bytes:
    """Length-prefixed gRPC messages, one after the other, none of them compressed."""
    lengths = list(map(len, records))
    find = _SHORT.__getitem__ if max(lengths, default=0) < len(_SHORT) else _PREFIX.pack
    parts: list[bytes] = [b""] * (2 * len(records))
    parts[0::2] = map(find, lengths)
    parts[1::2] = records
    return b"".join(parts)


async def exchange(
    channel: GrpcChannel, path: str, packed: bytes, metadata: Mapping[str, str], progress: Progress
) -> bytes:
    """One call: packed messages out, half-close, one reply back.

    Run it in a task of its own: grpclib cancels the calling task when the stream or the connection breaks.

    :returns: the reply's bytes, empty when there is none
    """
    protocol = await channel.connect()
    request = channel.request(path, Cardinality.STREAM_UNARY, bytes, bytes, metadata=dict(metadata))
    async with request as stream:
        wrapper = stream._wrapper
        protocol.processor.starting.add(wrapper)
        try:
            await stream.send_request()
        finally:
            protocol.processor.starting.discard(wrapper)
        progress.stream = stream._stream
        protocol.processor.sending.add(stream._stream)
        try:
            with wrapper:
                await stream._stream.send_data(packed, end_stream=True)
        finally:
            protocol.processor.sending.discard(stream._stream)
        stream._send_message_done = stream._end_done = True
        await stream.recv_initial_metadata()
        with wrapper:
            reply = await _receive_reply(stream._stream)
        # left to itself, grpclib would do without a status when the connection is closing
        await stream.recv_trailing_metadata()
        return reply


async def _receive_reply(stream: H2Stream) -> bytes:
    head = await stream.recv_data(_PREFIX.size)
    if not head:
        return b""
    (length,) = _PREFIX.unpack(head)
    if head[0] or length > MAX_REPLY:
        raise ReplyTooLargeError(f"a {'compressed ' if head[0] else ''}reply of {length} bytes")
    return await stream.recv_data(length)
