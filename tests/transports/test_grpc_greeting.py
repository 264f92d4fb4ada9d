"""Until a peer has greeted, with the SETTINGS that open each HTTP/2 connection, it hears neither token nor records."""

from __future__ import annotations

import anyio
import pytest
from h2.errors import ErrorCodes
from h2.settings import SettingCodes
from hyperframe.frame import GoAwayFrame

from faults.covering import covers
from kit.answers import confirm
from kit.client import until
from kit.each import grpc_client
from kit.h2_peer import H2Peer
from kit.servers import Parrot
from swagent.errors import RetryableError

pytestmark = pytest.mark.anyio


async def test_call_goes_out_when_the_greeting_comes_late() -> None:
    with H2Peer(confirm, greets=False) as peer:
        async with grpc_client(peer.address) as client, anyio.create_task_group() as group:

            async def greet() -> None:
                await until(lambda: peer.links)
                assert not peer.calls
                await peer.thread.call(peer.links[0].greet)

            group.start_soon(greet)
            assert await client.verdicts(3) == [None] * 3
        assert len(peer.links) == 1


@covers("F16", "grpc")
async def test_limits_of_the_greeting_hold_for_the_first_call() -> None:
    settings = {SettingCodes.MAX_CONCURRENT_STREAMS: 0}
    with H2Peer(confirm, settings=settings) as peer:
        async with grpc_client(peer.address, request_timeout=0.2) as client:
            assert isinstance(await client.verdict(), RetryableError)
        assert not peer.calls


@covers("F11", "grpc")
async def test_goaway_in_place_of_a_greeting_leaves_the_batch_unsent() -> None:
    with Parrot(GoAwayFrame(0, error_code=ErrorCodes.ENHANCE_YOUR_CALM).serialize()) as peer:
        async with grpc_client(peer.address) as client:
            error = await client.verdict()
            assert isinstance(error, RetryableError)
            assert error.pause == 5.0
