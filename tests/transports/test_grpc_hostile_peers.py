"""Peers that break the protocol, or bend it: the verdict is right, the application hears nothing, the next call works.

`grpc_client` fails a test when anything reaches the loop's exception handler, an unraisable hook, or a warning.
"""

from __future__ import annotations

import anyio
import pytest
from h2.errors import ErrorCodes
from hyperframe.frame import (
    AltSvcFrame,
    ContinuationFrame,
    DataFrame,
    HeadersFrame,
    PingFrame,
    PriorityFrame,
    SettingsFrame,
)

from faults.covering import covers
from kit import answers
from kit.answers import OK_HEAD, at_once, confirm, first, frame, raw
from kit.client import AT_ONCE, until
from kit.each import grpc_client
from kit.h2_peer import Call, H2Peer, message
from kit.servers import Behaviour
from swagent.errors import AmbiguousError

pytestmark = pytest.mark.anyio

CAP = 256 * 1024


async def early_hints(call: Call) -> None:
    await call.head([(b":status", b"103"), (b"link", b"</style.css>")]).send()


async def push(call: Call) -> None:
    request = [(b":method", b"GET"), (b":scheme", b"http"), (b":authority", b"peer"), (b":path", b"/pushed")]
    call.link.h2.push_stream(call.stream_id, 2, request)
    call.link.h2.send_headers(2, [(b":status", b"200")])
    call.link.h2.send_data(2, b"an answer without a request", end_stream=True)
    await call.send()


async def empty_data_between(call: Call) -> None:
    await call.head(OK_HEAD).data(b"").data(message(b"")).data(b"").head(answers.trailers(0), end=True).send()


async def padded(call: Call) -> None:
    call.head(OK_HEAD)
    call.link.h2.send_data(call.stream_id, message(b""), pad_length=200)
    await call.head(answers.trailers(0), end=True).send()


async def one_byte_frames(call: Call) -> None:
    call.head(OK_HEAD)
    for byte in message(b"twelve bytes"):
        call.data(bytes([byte]))
    await call.head(answers.trailers(0), end=True).send()


ODD_BUT_FINE: dict[str, Behaviour] = {
    "an unknown frame": first(answers.unknown_frame(0), confirm),
    "an unknown frame on the stream": first(answers.unknown_frame(1), confirm),
    "ALTSVC": first(frame(AltSvcFrame(0, origin=b"peer", field=b'h2=":1"')), confirm),
    "PRIORITY": first(frame(PriorityFrame(1, depends_on=0)), confirm),
    "PING": first(frame(PingFrame(0, opaque_data=b"12345678")), confirm),
    "SETTINGS, many": first(frame(*[SettingsFrame(0, settings={4: 65_535})] * 100), confirm),
    "103 early hints": first(early_hints, confirm),
    "103 twice": first(early_hints, early_hints, confirm),
    "PUSH_PROMISE": first(push, confirm),
    "empty DATA frames": empty_data_between,
    "padding": padded,
    "one byte a frame": one_byte_frames,
    "trailers only": answers.trailers_only(0),
    "a reply as large as the cap": answers.reply(message(bytes(CAP))),
    "a second message": answers.reply(message(b"one") + message(b"two")),
    "late": first(answers.late(0.2), confirm),
    "confirmed, then reset": at_once(confirm, answers.reset(ErrorCodes.NO_ERROR)),
    "confirmed, then GOAWAY": at_once(confirm, answers.go_away()),
    "confirmed, then GOAWAY for a fault": at_once(confirm, answers.go_away(code=ErrorCodes.PROTOCOL_ERROR)),
    "confirmed, then FIN": first(confirm, answers.hang_up),
}


@pytest.mark.one_loop
@covers("F12", "grpc")
@pytest.mark.parametrize("size", [0, 1], ids=["whole", "sliced"])
@pytest.mark.parametrize("name", ODD_BUT_FINE)
async def test_odd_but_fine(name: str, size: int) -> None:
    with H2Peer(ODD_BUT_FINE[name], slice=1000 * size if "cap" in name else size) as peer:
        async with grpc_client(peer.address) as client:
            assert await client.verdict() is None
            peer.behave, peer.slice = confirm, 0
            if "FIN" in name or "GOAWAY" in name:  # what the next call would otherwise cross on the way
                await until(lambda: client.transport._channel and not client.transport._channel._connected)
            assert await client.verdict() is None
        assert peer.records == [b"record", b"record"]
        assert not peer.complaints


GRPC = (b"content-type", b"application/grpc")
BROKEN: dict[str, Behaviour] = {
    "garbage": raw(b"\x00\xff" * 500),
    "the head of a frame that is a byte too long": raw(b"\x00\x40\x01\x00"),
    "HTTP/1": raw(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"),
    "a header that is not ASCII": answers.headers([*OK_HEAD, (b"x-name", b"caf\xe9"), (b"grpc-status", b"0")]),
    "another content type": answers.headers([(b":status", b"200"), (b"content-type", b"text/html")], b"<html>"),
    "no content type": answers.headers([(b":status", b"200"), (b"grpc-status", b"0")]),
    "no :status": answers.headers([GRPC, (b"grpc-status", b"0")]),
    "an empty 200": answers.headers([(b":status", b"200")]),
    "a head only": answers.headers(OK_HEAD),
    "a body without trailers": answers.headers(OK_HEAD, message(b"")),
    "trailers without a status": first(answers.reply(message(b""), ends=False), answers.headers([(b"x", b"y")])),
    "HTML 502": answers.headers([(b":status", b"502"), (b"content-type", b"text/html")], b"<html>bad gateway</html>"),
    "DATA before the head": frame(DataFrame(1, data=message(b""))),
    "DATA of a stream that was not opened": frame(DataFrame(99, data=message(b""))),
    "a compressed reply": answers.reply(message(b"zip", compressed=True)),
    "one byte beyond the cap": answers.reply(message(bytes(CAP + 1))),
    "a reply cut short": answers.reply(message(b"four", declared=99)),
    "a prefix cut short": answers.reply(b"\x00\x00"),
    "an HPACK bomb": answers.headers([*OK_HEAD, *[(b"x", b"boom" * 1000)] * 20]),
    "CONTINUATION without end": frame(HeadersFrame(1, data=b"\x88"), *[ContinuationFrame(1, data=b"")] * 100),
    "FIN": answers.hang_up,
    "RST": answers.abort,
    "a head, then FIN": first(answers.reply(b"", ends=False), answers.hang_up),
    "a reply, then FIN": first(answers.reply(message(b""), ends=False), answers.hang_up),
    "a reply, then RST": first(answers.reply(message(b""), ends=False), answers.abort),
    "a reply, then GOAWAY for a fault": first(
        answers.reply(message(b""), ends=False), answers.go_away(code=ErrorCodes.INTERNAL_ERROR)
    ),
    "reset: CANCEL": answers.reset(ErrorCodes.CANCEL),
    "reset: INTERNAL_ERROR": answers.reset(ErrorCodes.INTERNAL_ERROR),
    "reset: ENHANCE_YOUR_CALM": answers.reset(ErrorCodes.ENHANCE_YOUR_CALM),
    "reset: an unknown code": answers.reset(0xBEEF),
    "GOAWAY for a fault": answers.go_away(code=ErrorCodes.PROTOCOL_ERROR),
    "GOAWAY, then FIN": first(answers.go_away(), answers.hang_up),
}


@pytest.mark.one_loop
@covers("F14", "grpc")
@pytest.mark.parametrize("size", [0, 1], ids=["whole", "sliced"])
@pytest.mark.parametrize("name", BROKEN)
async def test_broken_answer_is_ambiguous_at_once_and_the_next_call_works(name: str, size: int) -> None:
    if size and "cap" in name:
        size = 1000
    elif size and "bomb" in name:
        size = 7  # thousands of single bytes are as many turns of two threads
    with H2Peer(BROKEN[name], slice=size) as peer:
        async with grpc_client(peer.address) as client:
            with anyio.fail_after(AT_ONCE):
                error = await client.verdict()
            assert isinstance(error, AmbiguousError), error
            peer.behave = confirm
            assert await client.verdict() is None
