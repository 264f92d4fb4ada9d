"""A call may be cancelled at any time, and what ends a call never leaks into the caller's own scopes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable

import anyio
import anyio.lowlevel
import pytest
import sniffio
from h2.errors import ErrorCodes

from kit import answers
from kit.answers import confirm
from kit.client import until
from kit.each import grpc_client
from kit.h2_peer import H2Peer
from swagent.errors import DeliveryError

pytestmark = pytest.mark.anyio

FAILURES = {
    "reset": answers.reset(ErrorCodes.INTERNAL_ERROR),
    "refused": answers.reset(ErrorCodes.REFUSED_STREAM),
    "gone": answers.abort,
    "closed": answers.go_away(code=ErrorCodes.INTERNAL_ERROR),
    "silent": answers.silent,
}


async def in_move_on(call: Callable[[], Awaitable[object]]) -> None:
    with anyio.move_on_after(30) as scope:
        await call()
        scope.cancel()
        await anyio.sleep(5)
        pytest.fail("the scope was cancelled")
    assert scope.cancelled_caught


async def in_failing_group(call: Callable[[], Awaitable[object]]) -> None:
    async def fail() -> None:
        raise LookupError

    try:
        async with anyio.create_task_group() as group:
            await call()
            group.start_soon(fail)
            await anyio.sleep(5)
    except BaseException as error:
        assert [type(each) for each in getattr(error, "exceptions", [])] == [LookupError]  # noqa: PT017


async def in_asyncio_timeout(call: Callable[[], Awaitable[object]]) -> None:
    if sys.version_info < (3, 11) or sniffio.current_async_library() != "asyncio":
        pytest.skip("asyncio.timeout is asyncio's, from Python 3.11 on")
    with pytest.raises(TimeoutError):  # noqa: PT012  (the scope ends the block)
        async with asyncio.timeout(30) as scope:
            await call()
            scope.reschedule(asyncio.get_running_loop().time())
            await asyncio.sleep(5)


SCOPES = [in_move_on, in_failing_group, in_asyncio_timeout]


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("within", SCOPES)
async def test_failed_call_leaves_the_scope_around_it_sound(
    within: Callable[[Callable[[], Awaitable[object]]], Awaitable[None]], failure: str
) -> None:
    with H2Peer(FAILURES[failure]) as peer:
        async with grpc_client(peer.address, request_timeout=0.1) as client:

            async def call() -> None:
                assert isinstance(await client.verdict(), DeliveryError)

            await within(call)
            await anyio.lowlevel.checkpoint()
            check_no_cancellation_is_left()


def check_no_cancellation_is_left() -> None:
    if sniffio.current_async_library() == "asyncio" and sys.version_info >= (3, 11):
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0


async def test_peer_hears_of_a_cancelled_call() -> None:
    with H2Peer(answers.silent) as peer:
        async with grpc_client(peer.address, request_timeout=30) as client:
            async with anyio.create_task_group() as group:
                group.start_soon(client.send)
                await until(lambda: peer.calls)
                group.cancel_scope.cancel()
            with anyio.fail_after(2):
                await peer.thread.call(peer.calls[0].was_reset.wait)


@pytest.mark.parametrize("moment", [0.0, 0.001, 0.003, 0.01])
async def test_dial_that_is_cancelled_hands_over_to_the_next_call(moment: float) -> None:
    with H2Peer(confirm) as peer:
        async with grpc_client(peer.address) as client, anyio.create_task_group() as group:

            async def give_up() -> None:
                with anyio.move_on_after(moment):
                    await client.send(b"given up")

            group.start_soon(give_up)
            group.start_soon(client.send, b"patient")
        assert b"patient" in peer.records
        assert len(peer.links) <= 2


async def test_sweep_over_all_tasks_of_the_loop() -> None:
    """As some frameworks do at their end: every task is cancelled, the call's own among them."""
    with H2Peer(answers.silent) as peer:
        async with grpc_client(peer.address, request_timeout=30) as client:

            async def sweep() -> None:
                for task in asyncio.all_tasks():
                    if "exchange" in repr(task):
                        task.cancel()

            async def expect_failure() -> None:
                assert isinstance(await client.verdict(), DeliveryError)

            async with anyio.create_task_group() as group:
                group.start_soon(expect_failure)
                await until(lambda: peer.calls)
                await client.run(sweep)
            check_no_cancellation_is_left()
            peer.behave = confirm
            assert await client.verdict() is None
