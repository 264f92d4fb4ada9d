"""Peers that send without end, each frame allowed by itself: the call ends, little memory is taken, the next one works.

`grpc_client` fails a test when anything reaches the application's handlers.
"""

from __future__ import annotations

import asyncio
import gzip
import struct
import time
from contextlib import suppress
from typing import Any

import anyio
import pytest
from grpclib.const import Status
from h2.settings import SettingCodes, Settings
from hpack.hpack import Decoder
from hyperframe.frame import (
    AltSvcFrame,
    ContinuationFrame,
    DataFrame,
    Frame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    PriorityFrame,
    PushPromiseFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)

from faults.covering import covers
from kit import answers
from kit.answers import confirm, first
from kit.client import AT_ONCE, REQUEST_TIMEOUT, until
from kit.each import grpc_client
from kit.h2_peer import Call, H2Peer, message
from kit.memory import MIB, takes_at_most
from kit.servers import Behaviour
from swagent.errors import AmbiguousError
from swagent_transports._grpclib_slices import MAX_HEAD, SLICE_STEPS, SlicedFrames

pytestmark = pytest.mark.anyio

# header blocks as HPACK writes them: `:status: 200` from the static table, `:status: 103` as a literal, `x: y` as a
# literal, and a header of 4000 bytes that goes into the dynamic table, where one byte repeats it
OK, EARLY, SMALL, REPEAT = b"\x88", b"\x08\x03103", b"\x00\x01x\x01y", b"\xbe"
LARGE = b"\x40\x01x\x7f\xa1\x1e" + bytes(4000).replace(b"\0", b"z")
TYPE = b"\x5f\x10application/grpc"


def many(frame: Frame, *flags: str) -> bytes:
    return flagged(frame, *flags) * 500


def flagged(frame: Frame, *flags: str) -> bytes:
    for each in flags:
        frame.flags.add(each)
    return frame.serialize()


def pushes() -> bytes:
    promised = range(2, 1002, 2)
    request = b"\x82\x86\x84\x41\x01p"
    frames = [PushPromiseFrame(1, promised_stream_id=number, data=request) for number in promised]
    return b"".join(flagged(each, "END_HEADERS") for each in frames)


def headers(block: bytes, *flags: str) -> bytes:
    return flagged(HeadersFrame(1, data=block), *flags)


FLOODS: dict[str, list[bytes]] = {
    "unknown frames": [b"\x00\x00\x06\xbe\x00\x00\x00\x00\x00future" * 500],
    "ALTSVC": [many(AltSvcFrame(0, origin=b"peer", field=b'h2=":1"'))],
    "PRIORITY": [many(PriorityFrame(1, depends_on=0))],
    "PING": [many(PingFrame(0, opaque_data=b"12345678"))],
    "SETTINGS": [many(SettingsFrame(0, settings={SettingCodes.INITIAL_WINDOW_SIZE: 65_535}))],
    "SETTINGS that resize the header table": [
        SettingsFrame(0, settings={SettingCodes.HEADER_TABLE_SIZE: size}).serialize() * 250 for size in (0, 4096)
    ],
    "WINDOW_UPDATE": [many(WindowUpdateFrame(0, window_increment=1))],
    "WINDOW_UPDATE beyond the largest window": [many(WindowUpdateFrame(0, window_increment=2**31 - 1))],
    "interim answers": [headers(EARLY, "END_HEADERS") * 500],
    "empty DATA": [headers(OK + TYPE, "END_HEADERS"), many(DataFrame(1, data=b""))],
    "DATA of one byte": [headers(OK + TYPE, "END_HEADERS"), many(DataFrame(1, data=b"x"))],
    "a message of one byte a frame": [
        headers(OK + TYPE, "END_HEADERS"), DataFrame(1, data=message(b"", declared=200_000)).serialize(),
        many(DataFrame(1, data=b"x")),
    ],
    "padding": [headers(OK + TYPE, "END_HEADERS"), many(DataFrame(1, data=b"", pad_length=255), "PADDED")],
    "PUSH_PROMISE": [pushes()],
    "RST_STREAM of a pushed stream": [pushes(), many(RstStreamFrame(2, error_code=8))],
    "GOAWAY": [many(GoAwayFrame(0, last_stream_id=2**31 - 1, additional_data=bytes(1000)))],
    "CONTINUATION": [headers(OK), ContinuationFrame(1, data=SMALL * 3000).serialize()],
    "empty CONTINUATION": [headers(OK), many(ContinuationFrame(1, data=b""))],
    "trailers again and again": [headers(OK + TYPE, "END_HEADERS"), headers(SMALL, "END_HEADERS") * 500],
}  # fmt: skip


@pytest.mark.gate
@covers("F12", "grpc")
@pytest.mark.parametrize("name", FLOODS)
async def test_flood(name: str) -> None:
    with H2Peer(confirm) as peer:
        async with grpc_client(peer.address, request_timeout=10.0) as client:
            await client.send()
            await client.run(client.transport.aclose)
        async with grpc_client(peer.address, request_timeout=10.0) as client:
            peer.behave = answers.flood(*FLOODS[name])
            begun = time.perf_counter()
            with takes_at_most(4 * MIB), anyio.fail_after(8.0):
                error = await client.verdict()
            print(f"{name}: over after {time.perf_counter() - begun:.2f} s: {error}")
            assert isinstance(error, AmbiguousError), error
            peer.behave = confirm
            assert await client.verdict() is None
        # the first connection was for what is loaded once
        assert len(peer.links) == 3


@covers("F12", "grpc")
@pytest.mark.parametrize(
    "name", ["PING", "SETTINGS", "empty DATA", "unknown frames", "interim answers", "PUSH_PROMISE"]
)
async def test_flood_is_worked_through_in_slices(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop's other tasks get their turn after so many frames, whatever has arrived."""
    weigh = SlicedFrames._weigh
    frames, turns = 0, [0]

    def count(unread: SlicedFrames, steps: int) -> None:
        nonlocal frames
        frames += 1
        turns[-1] += 1
        weigh(unread, steps)

    async def turn() -> None:
        while True:
            turns.append(0)
            await asyncio.sleep(0)

    async def turn_there() -> None:
        await client.run(turn)

    monkeypatch.setattr(SlicedFrames, "_weigh", count)
    *before, flood = FLOODS[name]
    with H2Peer(answers.raw(b"".join([*before, flood * 5]))) as peer:
        async with grpc_client(peer.address) as client, anyio.create_task_group() as group:
            group.start_soon(turn_there)
            await until(lambda: len(turns) > 1)
            assert isinstance(await client.verdict(), AmbiguousError)
            group.cancel_scope.cancel()
    assert frames > 2 * SLICE_STEPS, "a flood came"
    # on uvloop the next piece may be read in the turn that saw the last slice of the one before
    assert max(turns) <= 2 * SLICE_STEPS


HEAVY: dict[str, bytes] = {
    # past hyperframe, which writes the low byte of a setting's number alone
    "2,700 settings": struct.pack(">HBBBL", 16_200 >> 8, 16_200 & 0xFF, 4, 0, 0)
    + b"".join(struct.pack(">HL", number, 7) for number in range(100, 2800)),
    "a head of 16 KB": headers(OK + b"\x00\x01x\x7f\x81\x7c" + b"z" * 16_000, "END_HEADERS"),
    "a head of 160 KB": headers(OK + b"\x00\x01x\x7f\x81\xe1\x09" + b"z" * 16_000)
    + ContinuationFrame(1, data=b"z" * 16_000).serialize() * 9
    + flagged(ContinuationFrame(1, data=b"z" * 384), "END_HEADERS"),
}


@covers("F12", "grpc")
@pytest.mark.parametrize("name", HEAVY)
async def test_frame_that_takes_long_by_itself_is_refused_unread(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It cannot be worked through in slices."""
    heaviest = 0
    unpack, update = Decoder.decode, Settings.update

    def weigh_head(decoder: Decoder, data: bytes, *rest: Any, **more: Any) -> Any:
        nonlocal heaviest
        heaviest = max(heaviest, len(data))
        return unpack(decoder, data, *rest, **more)

    def weigh_settings(settings: Settings, given: Any) -> None:
        nonlocal heaviest
        heaviest = max(heaviest, 6 * len(given))
        update(settings, given)

    with H2Peer(confirm) as peer:
        async with grpc_client(peer.address) as client:
            peer.behave = answers.raw(HEAVY[name])
            monkeypatch.setattr(Decoder, "decode", weigh_head)
            monkeypatch.setattr(Settings, "update", weigh_settings)
            with anyio.fail_after(AT_ONCE):
                assert isinstance(await client.verdict(), AmbiguousError)
            peer.behave = confirm
            assert await client.verdict() is None
    assert 0 < heaviest <= MAX_HEAD


@pytest.mark.gate
@covers("F12", "grpc")
@pytest.mark.parametrize("name", ["PING", "SETTINGS"])
async def test_flood_of_questions_whose_answers_are_not_read(name: str) -> None:
    """The bytes to be written wait in our memory then."""

    async def stop_reading(call: Call) -> None:
        call.link.stop_reading()

    with H2Peer(first(stop_reading, answers.flood(*FLOODS[name]))) as peer:
        async with grpc_client(peer.address, leaves_files=True, request_timeout=5.0) as client:
            with takes_at_most(4 * MIB), anyio.fail_after(8.0):
                assert isinstance(await client.verdict(), AmbiguousError)
            peer.behave = confirm
            assert await client.verdict() is None


@pytest.mark.gate
@covers("F12", "grpc")
async def test_frames_between_answers_are_no_flood() -> None:
    """A connection that lives long hears more frames than a flood has, answer by answer."""
    pings = answers.raw(PingFrame(0, opaque_data=b"12345678").serialize() * 900)
    with H2Peer(first(pings, confirm)) as peer:
        async with grpc_client(peer.address, request_timeout=10.0) as client:
            for _ in range(6):
                assert await client.verdict() is None
        assert len(peer.links) == 1


@covers("F12", "grpc")
async def test_idle_connection_that_is_flooded_is_closed_and_the_next_call_dials_anew() -> None:
    with H2Peer(confirm) as peer:
        async with grpc_client(peer.address) as client:
            await client.send()
            with suppress(OSError):  # it is hung up on
                await peer.thread.call(answers.flood(*FLOODS["PING"]), peer.calls[0])
            await until(lambda: client.transport._channel and not client.transport._channel._connected)
            assert await client.verdict() is None
        assert len(peer.links) == 2


BOMBS: dict[str, Behaviour] = {
    "a header that repeats itself": answers.raw(headers(OK + LARGE + REPEAT * 12_000, "END_HEADERS")),
    "trailers that repeat themselves": answers.raw(
        headers(OK + TYPE, "END_HEADERS") + headers(LARGE + REPEAT * 12_000, "END_HEADERS", "END_STREAM")
    ),
    "a head of many frames": answers.raw(
        headers(OK) + ContinuationFrame(1, data=SMALL * 3000).serialize() * 60 + headers(b"", "END_HEADERS")
    ),
    "an endless head": answers.flood(headers(OK), ContinuationFrame(1, data=SMALL * 3000).serialize()),
    "endless trailers": answers.flood(
        headers(OK + TYPE, "END_HEADERS") + headers(SMALL, "END_STREAM"),
        ContinuationFrame(1, data=SMALL * 3000).serialize(),
    ),
}


def gzipped(size: int) -> Behaviour:
    fields = [*answers.OK_HEAD, (b"grpc-encoding", b"gzip")]
    bomb = message(gzip.compress(bytes(size)), compressed=True)

    async def behave(call: Call) -> None:
        await call.head(fields).data(bomb).head(answers.trailers(Status.OK), end=True).send()

    return behave


TOO_MUCH: dict[str, Behaviour] = {
    "4 MiB and a byte": answers.reply(message(bytes(4 * MIB + 1))),
    "200 MiB declared, and coming": answers.endless_reply(200 * MIB),
    "4 GiB declared, and nothing coming": answers.reply(struct.pack(">?I", False, 2**32 - 1)),
    "a gzip bomb": gzipped(12 * MIB),
    "message after message": answers.endless_reply(0),
}


@covers("F12", "grpc")
@covers("F13", "grpc")
@pytest.mark.parametrize("name", [*BOMBS, *(pytest.param(name, marks=pytest.mark.gate) for name in TOO_MUCH)])
async def test_answer_that_is_too_much_or_grows_when_it_is_read(name: str) -> None:
    with H2Peer({**BOMBS, **TOO_MUCH}[name]) as peer:
        # time to dial, on a busy machine too: what never ends takes all of it
        async with grpc_client(peer.address, request_timeout=1.0) as client:
            await client.verdict()
            with takes_at_most(2 * MIB), anyio.fail_after(4.0):
                assert isinstance(await client.verdict(), AmbiguousError)
            peer.behave, client.transport._timeout = confirm, REQUEST_TIMEOUT
            assert await client.verdict() is None
        if name in TOO_MUCH:
            assert max(link.sent for link in peer.links) < 3 * 65_536, "no more came than the window lets in"
