"""One call: its batch, and its answer as it comes in. No I/O. See `_grpclib`."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote

from grpclib.const import Status
from grpclib.exceptions import GRPCError, StreamTerminatedError
from h2.exceptions import ProtocolError

from ._grpclib_batch import Batch
from ._grpclib_headers import Fields
from ._retry_info import read_retry_delay

if TYPE_CHECKING:
    from ._grpclib_processor import GrpcProcessor

MAX_REPLY = 256 * 1024
_PREFIX = struct.Struct(">?I")
_CONTENT_TYPES = ("application/grpc", "application/grpc+proto")
_STATUS = "grpc-status"
# The status that the answer of a proxy stands for; every other one is UNKNOWN.
_OF_HTTP = {
    "400": Status.INTERNAL,
    "401": Status.UNAUTHENTICATED,
    "403": Status.PERMISSION_DENIED,
    "404": Status.UNIMPLEMENTED,
    "429": Status.UNAVAILABLE,
    "502": Status.UNAVAILABLE,
    "503": Status.UNAVAILABLE,
    "504": Status.UNAVAILABLE,
}


class ReplyTooLargeError(Exception):
    """The peer announced a reply beyond the cap, or a compressed one."""


class Call:
    """One `collect` stream, or one question.

    :ivar block: the compressed headers of the request
    :ivar answer: the bytes of the reply, empty where there is none. The first outcome stays; to cancel it is to give
        the call up
    :ivar stream_id: 0 until it has begun
    :ivar window: how much the peer lets us send on its stream
    :ivar owed: bytes of the answer for which the peer's windows were not opened again
    :ivar is_over: whether the peer has ended the stream
    :ivar is_reset: whether the stream is gone, for both sides
    """

    def __init__(self, block: bytes, records: Sequence[bytes], answer: asyncio.Future[bytes]) -> None:
        self.block = block
        self.batch = Batch(records)
        self.answer = answer
        self.stream_id = 0
        self.window = 0
        self.owed = 0
        self.is_over = False
        self.is_reset = False
        self.processor: GrpcProcessor | None = None
        self._head: Fields | None = None
        self._trailers: Fields | None = None
        self._reply = bytearray()

    @property
    def may_have_sent(self) -> bool:
        """Whether bytes of the batch have left."""
        return self.batch.sent > 0

    @property
    def has_status(self) -> bool:
        """Whether the peer answered with a status of gRPC, and no proxy before it with one of HTTP."""
        return _STATUS in self._last_fields()

    @property
    def retry_delay(self) -> float | None:
        """Seconds that the peer asked for in its status, if it did."""
        return read_retry_delay(self._last_fields().get("grpc-status-details-bin", ""))

    def take_fields(self, fields: Fields, *, is_end: bool) -> None:
        """Take the headers of the answer, or its trailers.

        :raises ProtocolError: when they cannot come here
        """
        if self._head is not None:
            if not is_end:
                raise ProtocolError("trailers that end no stream")
            self._trailers = fields
            return
        status = fields.get(":status", "")
        if status.startswith("1") and not is_end:
            return  # an interim answer
        self._head = fields
        if status != "200":
            self.fail(GRPCError(_OF_HTTP.get(status, Status.UNKNOWN), f"Received :status = {status!r}"))
        elif fields.get("content-type") not in _CONTENT_TYPES:
            self.fail(GRPCError(Status.UNKNOWN, f"Invalid content-type: {fields.get('content-type')!r}"))

    def take_data(self, data: bytes) -> bool:
        """Take bytes of the reply. False: they are of no use, since the reply is complete.

        :raises ProtocolError: when they come before the headers
        """
        if self._head is None:
            raise ProtocolError("DATA before the headers of an answer")
        if self.answer.done() or self._has_reply():
            return False
        self._reply += data
        if len(self._reply) >= _PREFIX.size:
            is_compressed, length = _PREFIX.unpack_from(self._reply)
            if is_compressed or length > MAX_REPLY:
                kind = "compressed reply" if is_compressed else "reply"
                self.fail(ReplyTooLargeError(f"a {kind} of {length} bytes"))
        return True

    def end(self) -> None:
        """The peer has ended the stream: this is the outcome."""
        self.is_over = True
        if not self.batch.is_out:
            self.fail(StreamTerminatedError("answered before it heard the whole batch"))
        elif _STATUS not in self._last_fields():
            self.fail(StreamTerminatedError("answered without a status"))
        elif self._reply and not self._has_reply():
            self.fail(StreamTerminatedError("a reply that was cut short"))
        elif (error := self._refusal()) is not None:
            self.fail(error)
        elif not self.answer.done():
            self.answer.set_result(bytes(self._reply[_PREFIX.size : _PREFIX.size + self._length()]))

    def fail(self, error: Exception) -> None:
        """End the call, unless it has ended. A status that came before says more than the error."""
        if not self.answer.done():
            self.answer.set_exception(self._refusal() or error)

    def _last_fields(self) -> Fields:
        return self._trailers or self._head or {}

    def _refusal(self) -> GRPCError | None:
        """The status of the answer, where there is one and it is not OK."""
        fields = self._last_fields()
        code = fields.get(_STATUS)
        if code is None or code == "0":
            return None
        try:
            status = Status(int(code))
        except ValueError:
            return GRPCError(Status.UNKNOWN, f"Invalid grpc-status: {code[:20]!r}")
        message = fields.get("grpc-message")
        return None if status is Status.OK else GRPCError(status, message and unquote(message, errors="replace"))

    def _length(self) -> int:
        return int.from_bytes(self._reply[1 : _PREFIX.size], "big")

    def _has_reply(self) -> bool:
        """Whether the reply is complete, which may be empty."""
        return len(self._reply) >= _PREFIX.size and len(self._reply) >= _PREFIX.size + self._length()
