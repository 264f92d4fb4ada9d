"""When the peer takes no more calls, or not yet: GOAWAY, refused streams, limits on streams and windows."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from h2.errors import ErrorCodes
from h2.settings import SettingCodes
from hyperframe.frame import SettingsFrame

from faults.covering import covers
from kit import answers
from kit.answers import confirm, first, frame
from kit.client import AT_ONCE, REQUEST_TIMEOUT, until
from kit.each import grpc_client
from kit.h2_peer import Call, H2Peer
from kit.memory import MIB, takes_at_most
from kit.servers import Behaviour
from swagent.errors import AmbiguousError, RetryableError

pytestmark = pytest.mark.anyio

NOT_PROCESSED: dict[str, Behaviour] = {
    "GOAWAY after stream 0": answers.go_away(0),
    "GOAWAY after stream 0, ENHANCE_YOUR_CALM": answers.go_away(0, ErrorCodes.ENHANCE_YOUR_CALM),
    "GOAWAY after stream 0, then FIN": first(answers.go_away(0), answers.hang_up),
    "reset: REFUSED_STREAM": answers.reset(ErrorCodes.REFUSED_STREAM),
}


@covers("F11", "grpc")
@pytest.mark.parametrize("name", NOT_PROCESSED)
async def test_a_batch_that_was_not_processed_may_be_sent_again(name: str) -> None:
    with H2Peer(NOT_PROCESSED[name]) as peer:
        async with grpc_client(peer.address) as client:
            assert isinstance(await client.verdict(), RetryableError)
            peer.behave = confirm
            assert await client.verdict() is None


@covers("F11", "grpc")
async def test_graceful_goaway_lets_the_taken_calls_finish() -> None:
    """As a server does that is being restarted: first a warning, then the last call that it takes, then the answers."""

    async def retire(call: Call) -> None:
        if call.stream_id == 3:
            while len(peer.calls) < 4:
                await answers.late(0.005)(call)
            await answers.go_away(2**31 - 1)(call)
            await answers.go_away(3)(call)
        if call.stream_id <= 3:
            await answers.late(0.1)(call)
            await confirm(call)

    with H2Peer(retire) as peer:
        async with grpc_client(peer.address) as client:
            peer.behave = confirm
            await client.send(b"warm")
            peer.behave = retire
            verdicts = await client.verdicts(3)
            peer.behave = confirm
            assert await client.verdict(b"next") is None
            with anyio.fail_after(2):
                await peer.thread.call(peer.links[0].gone.wait)
        kinds = sorted(type(each).__name__ for each in verdicts)
        assert kinds == ["NoneType", "RetryableError", "RetryableError"]
        assert len(peer.links) == 2


@covers("F11", "grpc")
async def test_retired_connection_does_not_outlive_the_transport() -> None:
    with H2Peer(confirm) as peer:
        async with grpc_client(peer.address, request_timeout=5.0) as client, anyio.create_task_group() as group:
            await client.send()
            peer.behave = answers.go_away()
            group.start_soon(client.verdict)
            await until(lambda: client.transport._channel and not client.transport._channel._connected)
            peer.behave = confirm
            assert await client.verdict() is None
            await client.run(client.transport.aclose)
            with anyio.fail_after(1):
                await peer.thread.call(peer.links[0].gone.wait)


STUCK: dict[str, dict[Any, int]] = {
    "no window": {SettingCodes.INITIAL_WINDOW_SIZE: 0},
    "no stream": {SettingCodes.MAX_CONCURRENT_STREAMS: 0},
    "one stream": {SettingCodes.MAX_CONCURRENT_STREAMS: 1},
}


@covers("F16", "grpc")
@pytest.mark.parametrize("name", ["no window", "no stream"])
async def test_peer_that_lets_nothing_in_leaves_the_batch_unsent(name: str) -> None:
    with H2Peer(confirm) as peer:
        async with grpc_client(peer.address) as client:
            await client.send()
            peer.behave = first(frame(SettingsFrame(0, settings=STUCK[name])), confirm)
            await client.send()
            client.transport._timeout = 0.3
            with anyio.fail_after(2):
                assert isinstance(await client.verdict(), RetryableError)
            peer.behave, client.transport._timeout = confirm, REQUEST_TIMEOUT
            assert await client.verdict() is None
        assert [len(call.body) for call in peer.calls if call.body] == [11] * 3
        assert len(peer.links) == 2, "the deadline had the connection dialled anew"


@covers("F16", "grpc")
async def test_window_shut_amid_the_batch_leaves_the_outcome_open() -> None:
    with H2Peer(confirm, stingy=True) as peer:
        async with grpc_client(peer.address) as client:
            await client.send()
            client.transport._timeout = 0.3
            with anyio.fail_after(2):
                assert isinstance(await client.verdict(bytes(100_000)), AmbiguousError)
            peer.stingy, client.transport._timeout = False, REQUEST_TIMEOUT
            assert await client.verdict(bytes(100_000)) is None
        assert [len(call.body) for call in peer.calls] == [11, 65_535 - 11, 100_005]


@covers("F16", "grpc")
async def test_one_stream_at_a_time() -> None:
    with H2Peer(first(answers.late(0.02), confirm), settings={SettingCodes.MAX_CONCURRENT_STREAMS: 1}) as peer:
        async with grpc_client(peer.address) as client:
            await client.send()
            assert await client.verdicts(5) == [None] * 5
        assert len(peer.links) == 1


@covers("F16", "grpc")
async def test_waiting_for_a_stream_ends_when_the_limit_is_raised() -> None:
    with H2Peer(confirm) as peer:
        async with grpc_client(peer.address, request_timeout=5.0) as client, anyio.create_task_group() as group:
            peer.behave = first(frame(SettingsFrame(0, settings={SettingCodes.MAX_CONCURRENT_STREAMS: 0})), confirm)
            await client.send()
            peer.behave = confirm

            async def relent() -> None:
                await anyio.sleep(0.1)
                allow = SettingsFrame(0, settings={SettingCodes.MAX_CONCURRENT_STREAMS: 9}).serialize()
                await peer.thread.call(peer.links[0].write, allow)

            group.start_soon(relent)
            with anyio.fail_after(2):
                assert await client.verdict() is None


@covers("F16", "grpc")
async def test_waiting_for_a_stream_ends_when_the_connection_does() -> None:
    with H2Peer(answers.silent, settings={SettingCodes.MAX_CONCURRENT_STREAMS: 1}) as peer:
        async with grpc_client(peer.address, request_timeout=5.0) as client, anyio.create_task_group() as group:
            peer.behave = confirm
            await client.send()
            peer.behave = answers.silent

            async def cut() -> None:
                await until(lambda: len(client.transport._calls) == 3)
                await until(lambda: len(peer.calls) == 2 and peer.calls[1].is_complete)
                await peer.thread.call(peer.stop)

            group.start_soon(cut)
            with anyio.fail_after(AT_ONCE):
                verdicts = await client.verdicts(3)
        kinds = sorted(type(each).__name__ for each in verdicts)
        assert kinds == ["AmbiguousError", "RetryableError", "RetryableError"]


@covers("F16", "grpc")
@pytest.mark.parametrize("name", STUCK)
async def test_batches_that_cannot_leave_take_little_more_than_themselves(name: str) -> None:
    async with grpc_client("127.0.0.1:1") as client:
        await client.verdict()  # what is loaded once
    with H2Peer(answers.silent, settings=STUCK[name], stingy=True) as peer:
        async with grpc_client(peer.address, request_timeout=0.3) as client:
            records = [bytes(MIB) for _ in range(4)]
            kinds: list[type] = []

            async def send(record: bytes) -> None:
                # not the errors themselves, which refer to the batch by their tracebacks
                kinds.append(type(await client.verdict(record)))

            with takes_at_most(5 * MIB, keeps=MIB):
                async with anyio.create_task_group() as group:
                    for each in records:
                        group.start_soon(send, each)
            # the peer has read then what was sent to it
            for link in peer.links:
                with anyio.fail_after(2):
                    await peer.thread.call(link.gone.wait)
            begun = [each for each in peer.calls if each.body]
            assert kinds.count(AmbiguousError) == len(begun)
            assert kinds.count(RetryableError) == 4 - len(begun)


calm = answers.go_away(code=ErrorCodes.ENHANCE_YOUR_CALM)


@covers("F11", "grpc")
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


@covers("F11", "grpc")
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


@covers("F11", "grpc")
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


@covers("F11", "grpc")
@pytest.mark.parametrize("code", [ErrorCodes.NO_ERROR, ErrorCodes.PROTOCOL_ERROR])
async def test_goaway_of_another_kind_asks_for_no_pause(code: ErrorCodes) -> None:
    with H2Peer(answers.go_away(0, code)) as peer:
        async with grpc_client(peer.address) as client:
            error = await client.verdict()
            assert isinstance(error, RetryableError)
            assert error.pause == 0.0
