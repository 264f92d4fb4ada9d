"""How connections end: restarts, failures, closing; and that nothing is left of them."""

from __future__ import annotations

import anyio
import pytest
from h2.settings import SettingCodes

from kit import answers
from kit.answers import confirm, first
from kit.client import open_files, until, wait_files_closed
from kit.each import grpc_client
from kit.h2_peer import Call, H2Peer
from kit.servers import collector_thread
from swagent.errors import AmbiguousError, RetryableError
from swagent_proto import messages

pytestmark = pytest.mark.anyio


async def test_collector_that_is_restarted_is_dialled_again() -> None:
    with collector_thread() as (collector, thread):
        async with grpc_client(collector.address, leaves_files=True) as client:
            await client.send(bytes(messages.SegmentObject("t", "s1")))
            await thread.call(collector.stop)
            assert isinstance(await client.verdict(bytes(messages.SegmentObject("t", "s2"))), RetryableError)
            await thread.call(collector.start)
            await client.send(bytes(messages.SegmentObject("t", "s3")))
        assert [segment.segment_id for segment in collector.store.segments] == ["s1", "s3"]


async def test_calls_that_fail_together_leave_the_next_connection_alone() -> None:
    """Of the calls of a broken connection one hears of it first; what it begins anew is no business of the others."""
    doomed = 5

    async def break_down(call: Call) -> None:
        if len(peer.calls) >= doomed:
            peer.behave = first(answers.late(0.05), confirm)
            call.link.abort()

    with H2Peer(break_down) as peer:
        async with grpc_client(peer.address) as client:
            again = []

            async def send_twice() -> None:
                assert isinstance(await client.verdict(), AmbiguousError)
                again.append(await client.verdict())

            async with anyio.create_task_group() as group:
                for _ in range(doomed):
                    group.start_soon(send_twice)
            assert again == [None] * doomed
        assert len(peer.links) == 2


async def test_peer_that_does_not_read_cannot_keep_the_socket_open() -> None:
    """Bytes that wait to be written to a dead peer are dropped with the connection."""

    async def stop_reading(call: Call) -> None:
        call.link._reader._transport.pause_reading()  # type: ignore[attr-defined]

    before = open_files()
    with H2Peer(stop_reading, settings={SettingCodes.INITIAL_WINDOW_SIZE: 2**30}, eager=True) as peer:
        async with grpc_client(peer.address, leaves_files=True, request_timeout=0.3) as client:
            idle = open_files()
            await client.verdict(bytes(30 * 2**20))
            await until(lambda: len(open_files() - idle) <= 1)  # the peer's end is open still
    assert not await wait_files_closed(before)
