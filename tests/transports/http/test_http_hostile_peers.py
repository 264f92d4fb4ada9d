"""Collectors that break the protocol, or break off: a verdict in time, at little cost, and the next call works."""

from __future__ import annotations

import gzip
import time

import anyio
import pytest

from faults.covering import covers
from kit import http_answers as answers
from kit.client import AT_ONCE
from kit.each import http_client
from kit.http_answers import confirm, first, raw, status
from kit.http_peer import Call, HttpPeer
from kit.memory import MIB, takes_at_most
from kit.servers import Behaviour
from kit.stopwatch import Stopwatch
from swagent.errors import AmbiguousError, RejectedError, RetryableError
from swagent_transports._http_reading import FrugalStream

pytestmark = pytest.mark.anyio

BROKEN: dict[str, Behaviour] = {
    "FIN": answers.hang_up,
    "RST": answers.abort,
    "half a status line, then FIN": first(raw(b"HTTP/1.1 20"), answers.hang_up),
    "half a head, then FIN": first(raw(b"HTTP/1.1 200 OK\r\nContent-Le"), answers.hang_up),
    "half a head, then RST": first(raw(b"HTTP/1.1 200 OK\r\nContent-Le"), answers.abort),
    "interim answer, then FIN": first(raw(b"HTTP/1.1 100 Continue\r\n\r\n"), answers.hang_up),
    "switched protocol": raw(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n"),
    "garbage": raw(b"\xff\0\x16\x03\x01 garbage \r\n\r\n"),
    "HTTP/2 preface": raw(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    "HTTP/2 settings": raw(b"\0\0\0\x04\0\0\0\0\0\0\0\0\x04\x01\0\0\0\0"),
    "status 99": raw(b"HTTP/1.1 099 What\r\nContent-Length: 0\r\n\r\n"),
    "status beyond": raw(b"HTTP/1.1 20000 What\r\nContent-Length: 0\r\n\r\n"),
    "header without a name": raw(b"HTTP/1.1 200 OK\r\n: x\r\n\r\n"),
    "NUL in a header": raw(b"HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n"),
    "two lengths": raw(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n[]"),
    "negative length": raw(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n"),
    "length of 100 digits": raw(b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 100 + b"\r\n\r\n"),
    "unknown transfer coding": raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"),
    "endless head": answers.endless(b"HTTP/1.1 200 OK\r\n", b"X-Padding: " + b"y" * 1000 + b"\r\n"),
    "endless header": answers.endless(b"HTTP/1.1 200 OK\r\nX: ", b"y" * 1000),
    "endless status line": answers.endless(b"HTTP/1.1 200 ", b"y" * 1000),
}


@pytest.mark.one_loop
@covers("F14", "http")
@pytest.mark.parametrize("name", BROKEN)
async def test_broken_head_is_ambiguous_at_once_and_the_next_call_works(name: str) -> None:
    with HttpPeer(BROKEN[name]) as peer:
        async with http_client(peer.address) as client:
            with anyio.fail_after(AT_ONCE):
                error = await client.verdict()
            assert isinstance(error, AmbiguousError), error
            assert len(str(error)) < 300
            assert str(error).isprintable()
            peer.behave = confirm
            assert await client.verdict() is None


@pytest.mark.gate
@pytest.mark.one_loop
async def test_broken_heads_byte_by_byte() -> None:
    with HttpPeer(confirm) as peer:
        async with http_client(peer.address) as client:
            for name, behave in BROKEN.items():
                peer.behave, peer.slice = behave, 100 if "endless" in name else 1
                assert isinstance(await client.verdict(), AmbiguousError), name


CUT: dict[str, Behaviour] = {
    "half a body, then FIN": first(raw(answers.head("Content-Length: 10") + b"[]"), answers.hang_up),
    "half a body, then RST": first(raw(answers.head("Content-Length: 10") + b"[]"), answers.abort),
    "half a chunk, then FIN": first(raw(answers.head("Transfer-Encoding: chunked") + b"9\r\n[]"), answers.hang_up),
    "body that never comes": raw(answers.head("Content-Length: 10")),
    "body that never ends": answers.endless(answers.head("Content-Length: 999999999"), b"x" * 9999),
}  # fmt: skip


@pytest.mark.gate
@pytest.mark.one_loop
@covers("F14", "http")
@pytest.mark.parametrize("name", CUT)
async def test_head_is_the_answer_whatever_becomes_of_the_body(name: str) -> None:
    with HttpPeer(CUT[name]) as peer:
        # time for the head, on a busy machine too
        async with http_client(peer.address, request_timeout=1.5) as client:
            with anyio.fail_after(AT_ONCE):
                assert await client.verdict() is None
            peer.behave = confirm
            assert await client.verdict() is None
        assert len(peer.links) == 2, "a connection that still has something to say is not used again"


CHUNKED = answers.head("Transfer-Encoding: chunked")
GARBLED: dict[str, Behaviour] = {
    "no chunk at all": raw(CHUNKED + b"zz\r\n"),
    "a chunk of a size below nothing": raw(CHUNKED + b"-1\r\n"),
    "a chunk longer than it says": raw(CHUNKED + b"1\r\nxyz\r\n0\r\n\r\n"),
    "an endless chunk extension": answers.endless(CHUNKED + b"1;x=", b"y" * 999),
    "an endless chunk extension behind a body": answers.endless(CHUNKED + b"2\r\n[]\r\n0;x=", b"y" * 999),
    "chunk after chunk with an extension": answers.endless(CHUNKED, b"1;x=" + b"y" * 9999 + b"\r\nz\r\n"),
    "endless trailers": answers.endless(CHUNKED + b"0\r\n", b"X: " + b"y" * 999 + b"\r\n"),
    "an endless trailer": answers.endless(CHUNKED + b"0\r\nX: ", b"y" * 999),
    "a trailer without a name": raw(CHUNKED + b"0\r\n: x\r\n\r\n"),
}


@pytest.mark.gate
@covers("F13", "http")
@covers("F14", "http")
@pytest.mark.parametrize("name", GARBLED)
async def test_confirmation_with_a_body_that_cannot_be_read_is_ambiguous(name: str) -> None:
    with HttpPeer(GARBLED[name]) as peer:
        async with http_client(peer.address) as client:
            with takes_at_most(2 * MIB), anyio.fail_after(AT_ONCE):
                error = await client.verdict()
            assert isinstance(error, AmbiguousError), error
            assert "HTTP 200" in str(error)
            peer.behave = confirm
            assert await client.verdict() is None
        assert len(peer.links) == 2


@covers("F15", "http")
@pytest.mark.parametrize("rest", [b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", b"Content-Length: 10\r\n\r\n[]"])
async def test_refusal_keeps_its_pause_without_its_body(rest: bytes) -> None:
    with HttpPeer(first(raw(b"HTTP/1.1 503 No\r\nRetry-After: 30\r\n" + rest), answers.hang_up)) as peer:
        async with http_client(peer.address) as client:
            error = await client.verdict()
            assert isinstance(error, RejectedError)
            assert error.pause == 30.0


BOMB = gzip.compress(bytes(64 * 2**20))
GIANT: dict[str, Behaviour] = {
    "4 MiB and a byte": raw(answers.answer(200, body=bytes(4 * MIB + 1))),
    "declared": answers.endless(answers.head("Content-Length: 209715200"), bytes(65_536)),
    "chunked": answers.endless(answers.head("Transfer-Encoding: chunked"), b"10000\r\n" + bytes(65_536) + b"\r\n"),
    "until the end": answers.endless(answers.head(), bytes(65_536)),
    "gzip bomb": raw(answers.answer(200, "Content-Encoding: gzip", body=BOMB)),
}


@covers("F13", "http")
@pytest.mark.parametrize("name", GIANT)
async def test_giant_reply_costs_no_memory(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = 0
    read = FrugalStream.read

    async def count(stream: FrugalStream, size: int, timeout: float | None = None) -> bytes:
        nonlocal taken
        data = await read(stream, size, timeout)
        taken += len(data)
        return data

    with HttpPeer(confirm) as peer:
        async with http_client(peer.address, request_timeout=10.0) as client:
            await client.send()
            peer.behave = GIANT[name]
            monkeypatch.setattr(FrugalStream, "read", count)
            with takes_at_most(2 * MIB), anyio.fail_after(8.0):
                assert await client.verdict() is None
            assert taken < 300 * 1024, "a connection is not worth more than its cap"
            peer.behave = confirm
            assert await client.verdict() is None


FLOODS = {
    "interim answers": answers.endless(b"", b"HTTP/1.1 100 C\r\n\r\n" * 1000),
    "chunks of one byte": answers.endless(answers.head("Transfer-Encoding: chunked"), b"1\r\nx\r\n" * 1000),
    "header lines": answers.endless(b"HTTP/1.1 200 OK\r\n", b"X:\r\n" * 1000),
}


@pytest.mark.gate
@covers("F13", "http")
@pytest.mark.parametrize("name", FLOODS)
async def test_flood(name: str) -> None:
    """Ends by itself, takes little memory, and does not keep the loop from the application for long."""
    with HttpPeer(FLOODS[name]) as peer:
        async with http_client(peer.address, request_timeout=20.0) as client:
            with takes_at_most(2 * MIB), anyio.fail_after(15.0):
                error = await client.verdict()
            assert isinstance(error, AmbiguousError) or name.startswith("chunks")
            async with anyio.create_task_group() as group:
                longest = 0.0

                async def beat() -> None:
                    nonlocal longest
                    while True:
                        # this thread's own time: what other processes take is not the agent's doing
                        begun = time.thread_time()
                        await anyio.lowlevel.checkpoint()
                        longest = max(longest, time.thread_time() - begun)

                group.start_soon(beat)
                await client.verdict()
                group.cancel_scope.cancel()
            print(f"{name}: longest hold of the loop: {longest * 1000:.1f} ms; {error}")
            assert longest < 0.03, "a piece's worth of them, in asyncio's debug mode"
            peer.behave = confirm
            assert await client.verdict() is None


async def test_answer_that_drips_does_not_prolong_the_deadline() -> None:
    """Each byte comes in time, which is all that a timeout per read would look at."""

    async def drip(call: Call) -> None:
        for byte in answers.answer(200):
            await first(raw(bytes([byte])), answers.late(0.05))(call)

    with HttpPeer(drip) as peer:
        async with http_client(peer.address, request_timeout=0.3) as client:
            watch = Stopwatch()
            with anyio.fail_after(5):
                assert isinstance(await client.verdict(), AmbiguousError)
            assert watch.own_seconds < 1


async def test_peer_that_does_not_read_is_left_at_the_deadline() -> None:
    with HttpPeer(answers.late(0.5), eager=True) as peer:
        async with http_client(peer.address, request_timeout=0.3) as client:
            with anyio.fail_after(AT_ONCE):
                assert isinstance(await client.verdict(bytes(32 * 2**20)), AmbiguousError)


@pytest.mark.parametrize("behave", [answers.hang_up, answers.abort], ids=["FIN", "RST"])
@pytest.mark.parametrize("size", [10, 8 * 2**20])
async def test_broken_off_before_the_body_was_read(behave: Behaviour, size: int) -> None:
    with HttpPeer(behave, eager=True) as peer:
        async with http_client(peer.address) as client:
            for _ in range(5):
                assert isinstance(await client.verdict(bytes(size)), (AmbiguousError, RetryableError))
            peer.behave, peer.eager = confirm, False
            assert await client.verdict() is None


@pytest.mark.gate
@covers("F07", "http")
async def test_every_moment_of_an_answer_to_break_off() -> None:
    """However much the peer has heard and said so far, the verdict is one of those that cannot duplicate."""
    whole = answers.answer(200)
    with HttpPeer(confirm) as peer:
        async with http_client(peer.address) as client:
            for cut in range(len(whole)):
                peer.behave = first(raw(whole[:cut]), answers.hang_up if cut % 2 else answers.abort)
                error = await client.verdict()
                assert error is None or isinstance(error, AmbiguousError)
                assert error is None or cut < whole.index(b"\r\n\r\n") + 4
                peer.behave = status(200)
