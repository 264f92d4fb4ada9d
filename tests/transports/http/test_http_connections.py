"""Connections: kept, shared, given up, and never left behind."""

from __future__ import annotations

import ssl

import anyio
import httpx
import pytest

from kit import http_answers as answers
from kit.client import AT_ONCE, until
from kit.each import http_client
from kit.http_answers import confirm, first
from kit.http_peer import Call, HttpPeer
from kit.servers import Behaviour
from swagent.errors import AmbiguousError, RetryableError
from swagent_transports import _http_pool

pytestmark = pytest.mark.anyio


@pytest.mark.gate
async def test_as_many_connections_as_calls_at_the_same_time() -> None:
    with HttpPeer(first(answers.late(0.1), confirm)) as peer:
        async with http_client(peer.address) as client:
            for _ in range(3):
                with anyio.fail_after(AT_ONCE):
                    assert await client.verdicts(8) == [None] * 8
        assert len(peer.calls) == 24
        assert len(peer.links) == 8


async def test_openssl_is_let_alone_where_there_is_no_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that is forked while its locks are held hangs when it ends."""
    made: list[object] = []

    def note(kind: type[ssl.SSLContext], *arguments: int) -> ssl.SSLContext:
        made.append(arguments)
        return make(kind, *arguments)

    make = ssl.SSLContext.__new__
    monkeypatch.setattr(ssl.SSLContext, "__new__", note)
    ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    assert len(made) == 1, "it is noticed here"
    with HttpPeer(answers.abort) as peer:
        async with http_client(peer.address) as client:
            for _ in range(3):  # each retires its pool
                assert isinstance(await client.verdict(), AmbiguousError)
        assert len(peer.links) == 3
    assert len(made) == 1


@pytest.mark.parametrize("goodbye", [answers.hang_up, answers.abort], ids=["FIN", "RST"])
async def test_connection_that_the_server_closed_meanwhile_costs_nothing(goodbye: Behaviour) -> None:
    with HttpPeer(first(confirm, goodbye)) as peer:
        async with http_client(peer.address) as client:
            for _ in range(10):
                assert await client.verdict() is None
                with anyio.fail_after(2):
                    await peer.thread.call(peer.links[-1].gone.wait)
                await anyio.sleep(0.01)
        assert len(peer.links) == 10


@pytest.mark.gate
async def test_connection_that_the_server_closes_right_now_is_never_taken_for_unsent() -> None:
    """FIN and request cross on the way, sometimes: confirmed by a new connection, or ambiguous, never sent twice."""
    with HttpPeer(first(confirm, answers.hang_up)) as peer:
        async with http_client(peer.address) as client:
            verdicts = [await client.verdict(b"%d" % number) for number in range(200)]
        sent = [number for call in peer.calls if call.is_complete for number in call.json]
    assert len(sent) == len(set(sent))
    for number, verdict in enumerate(verdicts):
        assert verdict is None or isinstance(verdict, (AmbiguousError, RetryableError))
        assert verdict is not None or number in sent
        assert not isinstance(verdict, RetryableError) or number not in sent


async def test_idle_connection_is_not_used_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _http_pool._LIMITS.keepalive_expiry is not None
    assert _http_pool._LIMITS.keepalive_expiry <= 10.0
    monkeypatch.setattr(_http_pool, "_LIMITS", httpx.Limits(max_connections=None, keepalive_expiry=0.1))
    with HttpPeer(confirm) as peer:
        async with http_client(peer.address) as client:
            await client.send()
            await anyio.sleep(0.2)
            await client.send()
            with anyio.fail_after(2):
                await peer.thread.call(peer.links[0].gone.wait)
        assert len(peer.links) == 2


async def test_failed_call_gives_up_the_idle_connections_and_not_its_neighbours() -> None:
    async def behave(call: Call) -> None:
        if b"1" in call.body:
            await answers.late(0.1)(call)
            call.link.abort()
        else:
            await answers.late(0.2)(call)
            await confirm(call)

    with HttpPeer(behave) as peer:
        async with http_client(peer.address) as client:
            kinds = [type(each).__name__ for each in await client.verdicts(3)]
            assert sorted(kinds) == ["AmbiguousError", "NoneType", "NoneType"]
            for link in peer.links:
                with anyio.fail_after(2):
                    await peer.thread.call(link.gone.wait)
            peer.behave = confirm
            assert await client.verdict() is None
        assert len(peer.links) == 4


async def test_closing_amid_a_reply() -> None:
    with HttpPeer(answers.raw(answers.head("Content-Length: 10"))) as peer:
        async with http_client(peer.address) as client, anyio.create_task_group() as group:

            async def call() -> None:
                assert await client.verdict() is None

            group.start_soon(call)
            await until(lambda: any(each.response for each in client.transport._under_way))
            await client.transport.aclose()


async def test_closing_again_and_again() -> None:
    with HttpPeer(confirm) as peer:
        async with http_client(peer.address) as client:
            await client.send()
            async with anyio.create_task_group() as group:
                for _ in range(3):
                    group.start_soon(client.transport.aclose)
            await client.transport.aclose()
            error = await client.verdict()
            assert isinstance(error, RetryableError)
        assert len(peer.calls) == 1
        async with http_client(peer.address) as unused:
            await unused.transport.aclose()


async def test_cancelled_close_still_closes() -> None:
    with HttpPeer(confirm) as peer:
        async with http_client(peer.address) as client:
            await client.verdicts(4)
            with anyio.CancelScope() as scope:
                scope.cancel()
                await client.transport.aclose()
            assert isinstance(await client.verdict(), RetryableError)
            for link in peer.links:
                with anyio.fail_after(AT_ONCE):
                    await peer.thread.call(link.gone.wait)
