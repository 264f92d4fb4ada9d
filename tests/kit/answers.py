"""How an `H2Peer` behaves: each a function of one call. `first(raw(...), confirm)` puts them one after the other."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Sequence
from typing import Any

from grpclib.const import Status
from h2.errors import ErrorCodes
from hyperframe.frame import Frame, GoAwayFrame, RstStreamFrame

from .h2_peer import Call, Header, message
from .servers import Behaviour

OK_HEAD: list[Header] = [(b":status", b"200"), (b"content-type", b"application/grpc")]


def trailers(status: Status | int, text: bytes = b"") -> list[Header]:
    """The trailers of a gRPC answer."""
    found = [(b"grpc-status", str(int(status if isinstance(status, int) else status.value)).encode())]
    return [*found, (b"grpc-message", text)] if text else found


def retry_info(status: Status, seconds: int) -> bytes:
    """A trailer with a google.rpc.RetryInfo, by which servers ask for a delay."""
    delay = bytes([0x08, seconds])
    info = bytes([0x0A, len(delay)]) + delay
    name = b"type.googleapis.com/google.rpc.RetryInfo"
    detail = bytes([0x0A, len(name)]) + name + bytes([0x12, len(info)]) + info
    return base64.b64encode(bytes([0x08, status.value, 0x1A, len(detail)]) + detail).rstrip(b"=")


async def confirm(call: Call) -> None:
    """An empty `Commands`."""
    await call.head(OK_HEAD).data(message(b"")).head(trailers(0), end=True).send()


async def silent(call: Any) -> None:
    """No answer at all."""


def first(*behaviours: Behaviour) -> Behaviour:
    """One behaviour after the other."""

    async def behave(call: Any) -> None:
        for each in behaviours:
            await each(call)

    return behave


def at_once(*behaviours: Behaviour) -> Behaviour:
    """One behaviour after the other, and what they write in one piece."""

    async def behave(call: Call) -> None:
        call.link.hold()
        await first(*behaviours)(call)
        await call.link.release()

    return behave


def late(seconds: float) -> Behaviour:
    """A pause."""
    return lambda call: asyncio.sleep(seconds)


def status(code: Status | int, text: bytes = b"") -> Behaviour:
    """A whole answer that ends in a status."""

    return ending(trailers(code, text))


def ending(fields: Sequence[Header]) -> Behaviour:
    """A good head, and any trailers."""

    async def behave(call: Call) -> None:
        await call.head(OK_HEAD).head(fields, end=True).send()

    return behave


def trailers_only(code: Status | int, text: bytes = b"") -> Behaviour:
    """A status in the one and only HEADERS frame."""
    return headers([*OK_HEAD, *trailers(code, text)])


def headers(fields: Sequence[Header], body: bytes | None = None) -> Behaviour:
    """Any HEADERS frame, and maybe a body, which end the stream."""

    async def behave(call: Call) -> None:
        call.head(fields, end=body is None)
        if body is not None:
            call.data(body, end=True)
        await call.send()

    return behave


def reply(body: bytes, *, ends: bool = True) -> Behaviour:
    """A good head and any body, sent as fast as the client takes it; then good trailers."""

    async def behave(call: Call) -> None:
        await call.head(OK_HEAD).send()
        position = 0
        while position < len(body):
            size = await call.link.wait_window(call.stream_id)
            await call.data(body[position : position + size]).send()
            position += size
        if ends:
            await call.head(trailers(0), end=True).send()

    return behave


def endless_reply(declared: int) -> Behaviour:
    """A reply that declares a length and keeps coming for as long as the client lets it."""

    async def behave(call: Call) -> None:
        await call.head(OK_HEAD).data(message(b"", declared=declared)).send()
        while True:
            size = await call.link.wait_window(call.stream_id)
            await call.data(bytes(size)).send()

    return behave


def reset(code: ErrorCodes | int) -> Behaviour:
    """RST_STREAM, past h2, which would not reset a stream that has ended."""

    async def behave(call: Call) -> None:
        await call.link.write(RstStreamFrame(call.stream_id, error_code=int(code)).serialize())

    return behave


def go_away(last_stream_id: int | None = None, code: ErrorCodes = ErrorCodes.NO_ERROR) -> Behaviour:
    """GOAWAY, written past h2, which would not speak afterwards; by default this call is the last one taken."""

    async def behave(call: Call) -> None:
        last = call.stream_id if last_stream_id is None else last_stream_id
        await call.link.write(GoAwayFrame(last_stream_id=last, error_code=code).serialize())

    return behave


def frame(*frames: Frame) -> Behaviour:
    """Frames past h2."""
    return raw(b"".join(each.serialize() for each in frames))


def unknown_frame(stream_id: int) -> Behaviour:
    """A frame of an undefined type."""
    return raw(b"\x00\x00\x06\xbe\x00" + stream_id.to_bytes(4, "big") + b"future")


def flood(*pieces: bytes) -> Behaviour:
    """Bytes past h2: the last piece again and again, for as long as the client takes them."""

    async def behave(call: Call) -> None:
        for each in pieces[:-1]:
            await call.link.write(each)
        while not call.link.gone.is_set():
            await call.link.write(pieces[-1])
            await asyncio.sleep(0)

    return behave


def raw(data: bytes) -> Behaviour:
    """Bytes past h2."""
    return lambda call: call.link.write(data)


async def hang_up(call: Any) -> None:
    """FIN, after all that was written."""
    call.link.hang_up()


async def abort(call: Any) -> None:
    """RST."""
    call.link.abort()
