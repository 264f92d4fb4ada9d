"""The meaning of each answer for a batch."""

from __future__ import annotations

import time
from email.utils import formatdate

import pytest

from faults.covering import covers
from kit import http_answers as answers
from kit.each import http_client
from kit.http_answers import confirm, first, status
from kit.http_peer import HttpPeer
from swagent.errors import AmbiguousError, DeliveryError, RejectedError

pytestmark = pytest.mark.anyio

PAUSES = {401: 60.0, 403: 60.0, 429: 5.0, 503: 5.0}


def expected_of(code: int) -> tuple[type[DeliveryError] | None, float | None]:
    """The verdict on a status, and the pause that comes with it."""
    if 200 <= code < 300:
        return None, None
    if 300 <= code < 500 or code == 503:
        return RejectedError, PAUSES.get(code, 0.0)
    return AmbiguousError, None


@pytest.mark.gate
@pytest.mark.one_loop
@covers("F15", "http")
async def test_statuses() -> None:
    with HttpPeer(confirm) as peer:
        # a refusal makes a connection old, by chance at once
        async with http_client(peer.address, request_timeout=5.0, connection_max_age=0.0) as client:
            for code in [*range(200, 600), 600, 999]:
                kind, pause = expected_of(code)
                peer.behave = status(code)
                error = await client.verdict()
                assert (None if error is None else type(error)) is kind, f"{code}: {error!r}"
                assert getattr(error, "pause", None) == pause, code
                assert error is None or str(error) == f"HTTP {code}"
        assert len(peer.links) == 1, "an answer is an answer: the connection is sound"


@pytest.mark.one_loop
@covers("F15", "http")
@pytest.mark.parametrize("code", [429, 503])
async def test_retry_after(code: int) -> None:
    future = formatdate(time.time() + 3600, usegmt=True)
    # what may be asked for is read by test_retry_after.py
    expected = {"0": 0.0, "7": 7.0, "junk": 5.0, "": 5.0, "\xff\xfe": 5.0, "9" * 5000: 60.0, future: 60.0}
    with HttpPeer(confirm) as peer:
        async with http_client(peer.address) as client:
            for text, pause in expected.items():
                peer.behave = status(code, f"Retry-After: {text}")
                error = await client.verdict()
                assert isinstance(error, RejectedError)
                assert error.pause == pause, text
            peer.behave = status(code, "Retry-After: 7", "Retry-After: 8")
            error = await client.verdict()
            assert isinstance(error, RejectedError)
            assert error.pause == 5.0, "two of them say nothing"


@pytest.mark.one_loop
@covers("F15", "http")
async def test_retry_after_of_another_status_is_not_read() -> None:
    with HttpPeer(status(500, "Retry-After: 30")) as peer:
        async with http_client(peer.address) as client:
            assert isinstance(await client.verdict(), AmbiguousError)
            peer.behave = status(400, "Retry-After: 30")
            error = await client.verdict()
            assert isinstance(error, RejectedError)
            assert error.pause == 0.0
            peer.behave = status(200, "Retry-After: 30")
            assert await client.verdict() is None


@pytest.mark.one_loop
@covers("F15", "http")
async def test_redirect_is_not_followed() -> None:
    with HttpPeer(confirm) as elsewhere, HttpPeer(confirm) as peer:
        async with http_client(peer.address) as client:
            for target in (f"http://{elsewhere.address}/v3/segments", "/v3/segments", "file:///etc/passwd", "\xff"):
                for code in (301, 302, 303, 307, 308):
                    peer.behave = status(code, f"Location: {target}")
                    assert isinstance(await client.verdict(), RejectedError)
        assert not elsewhere.connected
        assert len(peer.calls) == 20


@pytest.mark.one_loop
@covers("F15", "http")
@pytest.mark.parametrize("code", [100, 102, 103, 199])
async def test_informational_answers_are_no_answers(code: int) -> None:
    interim = answers.raw(b"HTTP/1.1 %d Wait\r\nX: y\r\n\r\n" % code)
    with HttpPeer(first(interim, interim, confirm)) as peer:
        async with http_client(peer.address) as client:
            assert await client.verdict() is None
            peer.behave = first(interim, status(503))
            assert isinstance(await client.verdict(), RejectedError)
            peer.behave = first(interim, answers.hang_up)
            assert isinstance(await client.verdict(), AmbiguousError)


@covers("F15", "http")
@pytest.mark.parametrize("code", [400, 413, 429, 503])
async def test_refusal_before_the_batch_was_heard(code: int) -> None:
    """The server answers after the head, waits a little, and shuts. Its answer may be lost with the connection."""
    with HttpPeer(first(status(code, "Connection: close"), answers.late(0.05), answers.hang_up), eager=True) as peer:
        async with http_client(peer.address) as client:
            assert isinstance(await client.verdict(bytes(8 * 2**20)), (RejectedError, AmbiguousError))
            assert isinstance(await client.verdict(b"{}"), RejectedError)


@covers("F15", "http")
async def test_confirmation_before_the_batch_was_heard_confirms_nothing() -> None:
    with HttpPeer(first(confirm, answers.late(0.05), answers.abort), eager=True) as peer:
        async with http_client(peer.address) as client:
            assert isinstance(await client.verdict(bytes(32 * 2**20)), AmbiguousError)


BODIES = {
    "nothing": answers.answer(200, body=b""),
    "html": answers.answer(200, "Content-Type: text/html", body=b"<html>hello</html>"),
    "not what it says": answers.answer(200, "Content-Type: application/json", body=b"\xff\0{"),
    "until the end": answers.head("Connection: close") + b"[]",
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\n\r\n[]",
    "chunked, with trailers": answers.head("Transfer-Encoding: chunked") + b"2\r\n[]\r\n0\r\nX: y\r\n\r\n",
    "no reason": b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
    "cookies": answers.answer(200, "Set-Cookie: a=b", "Set-Cookie: c=d; Max-Age=99999"),
}


@pytest.mark.one_loop
@covers("F14", "http")
@pytest.mark.parametrize("slice_size", [0, 1], ids=["whole", "sliced"])
async def test_body_of_a_confirmation_does_not_matter(slice_size: int) -> None:
    with HttpPeer(confirm, slice=slice_size) as peer:
        async with http_client(peer.address) as client:
            for name, body in BODIES.items():
                behave = answers.raw(body)
                peer.behave = first(behave, answers.hang_up) if name in ("until the end", "HTTP/1.0") else behave
                assert await client.verdict() is None, name
                assert await client.verdict() is None, name
        assert not any("cookie" in call.headers for call in peer.calls)
