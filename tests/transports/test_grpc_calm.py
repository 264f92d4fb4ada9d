"""GOAWAY with ENHANCE_YOUR_CALM: what the peer took is finished, what it did not take is kept, and it is left alone."""

from __future__ import annotations

import time

import anyio
import pytest
from h2.errors import ErrorCodes

from faults.covering import covers
from kit import answers
from kit.answers import confirm, first
from kit.client import grpc_client, until
from kit.h2_peer import Behaviour, Call, H2Peer
from swagent import Agent, Config, local_span
from swagent.errors import RetryableError
from swagent_transports import _grpclib_processor
from swagent_transports.grpc import GrpcTransport

pytestmark = [pytest.mark.anyio, covers("F11", "grpc")]

calm = answers.go_away(code=ErrorCodes.ENHANCE_YOUR_CALM)


async def test_call_that_was_taken_is_finished_and_the_next_one_waits() -> None:
    with H2Peer(first(calm, answers.late(0.05), confirm)) as peer:
        async with grpc_client(peer.address) as client:
            assert await client.verdict(b"taken") is None
            peer.behave = confirm
            error = await client.verdict(b"kept")
            assert isinstance(error, RetryableError)
            assert error.pause == 5.0
            assert await client.verdict(b"after the pause") is None, "it is raised once; the caller pauses"
        assert peer.records == [b"taken", b"after the pause"]
        assert len(peer.links) == 2


async def test_calls_above_the_last_one_taken_go_back_with_the_pause() -> None:
    async def take_two(call: Call) -> None:
        while len(peer.calls) < 4:
            await answers.late(0.005)(call)
        if call.stream_id == 3:
            await answers.go_away(3, ErrorCodes.ENHANCE_YOUR_CALM)(call)
        if call.stream_id <= 3:
            await first(answers.late(0.05), confirm)(call)

    with H2Peer(take_two) as peer:
        async with grpc_client(peer.address) as client:
            verdicts = await client.verdicts(4)
            peer.behave = confirm
            assert await client.verdict() is None, "the pause was raised already"
        back = [each for each in verdicts if each is not None]
        assert [type(each) for each in back] == [RetryableError] * 2
        assert {getattr(each, "pause", None) for each in back} == {5.0}


async def test_idle_connection_that_is_asked_to_calm_down() -> None:
    """As a stock server does with a client that pings too often."""
    with H2Peer(confirm) as peer:
        async with grpc_client(peer.address) as client:
            await client.send()
            await peer.thread.call(calm, peer.calls[0])
            await until(lambda: client.transport._channel and not client.transport._channel._connected)
            error = await client.verdict()
            assert isinstance(error, RetryableError)
            assert error.pause == 5.0
            assert await client.verdict() is None


@pytest.mark.parametrize("code", [ErrorCodes.NO_ERROR, ErrorCodes.PROTOCOL_ERROR])
async def test_goaway_of_another_kind_asks_for_no_pause(code: ErrorCodes) -> None:
    with H2Peer(answers.go_away(0, code)) as peer:
        async with grpc_client(peer.address) as client:
            error = await client.verdict()
            assert isinstance(error, RetryableError)
            assert error.pause == 0.0


def agent_for(peer: H2Peer) -> Agent:
    silent = {"log_reporter_active": False, "meter_reporter_active": False, "event_reporter_active": False}
    return Agent(Config(service="shop", collector=peer.address, **silent), transport=GrpcTransport)  # type: ignore[arg-type]


def to_segments(behave: Behaviour) -> Behaviour:
    """For calls that carry segments; properties and heartbeats are confirmed."""

    async def choose(call: Call) -> None:
        await (behave if b"Segment" in call.headers[b":path"] else confirm)(call)

    return choose


@pytest.mark.gate
async def test_agent_leaves_the_collector_alone_and_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_grpclib_processor, "CALM", 0.5)
    found: list[float] = []
    seen = 0

    async def ask_for_calm(call: Call) -> None:
        nonlocal seen
        peer.behave, seen = confirm, len(peer.links)
        found.append(time.monotonic())
        await answers.go_away(0, ErrorCodes.ENHANCE_YOUR_CALM)(call)

    with H2Peer(to_segments(ask_for_calm)) as peer:
        async with agent_for(peer) as agent:
            with local_span("one"):
                pass
            await until(lambda: found, timeout=5.0)
            await until(lambda: len(peer.links) > seen, timeout=5.0)
            assert time.monotonic() - found[0] >= 0.49
            with anyio.fail_after(5):
                assert await agent.flush(5)
        assert agent.statistics().segment.confirmed == 1
