"""A transport that is closed ends the calls that are under way, at once and by true verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import anyio
import pytest

from kit.client import AT_ONCE, until
from kit.each import ANSWERS, CLIENTS, PEERS
from kit.kafka_broker import PRODUCE, KafkaBroker
from kit.servers import Parrot, full_backlog
from swagent.errors import AmbiguousError, RetryableError

pytestmark = pytest.mark.anyio

CALLS = 3
CASES = [
    *((transport, "dialling", RetryableError) for transport in CLIENTS),
    ("grpc", "before the greeting", RetryableError),
    ("kafka", "before the greeting", RetryableError),
    ("grpc", "amid a handshake", RetryableError),
    ("http", "amid a handshake", RetryableError),
    *((transport, "waiting for an answer", AmbiguousError) for transport in CLIENTS),
]


@contextmanager
def peer_at(place: str, transport: str) -> Iterator[tuple[str, Callable[[], object]]]:
    """The address of a peer at which calls get so far and no further, and whether they are there."""
    if place == "dialling":
        with full_backlog() as address:
            yield address, lambda: True
    elif place == "waiting for an answer":
        with PEERS[transport]() as peer:
            if isinstance(peer, KafkaBroker):
                peer.instead[PRODUCE] = b""
                yield peer.address, lambda: PRODUCE in peer.requests
            else:
                peer.behave = ANSWERS[transport].silent
                yield peer.address, lambda: sum(each.is_complete for each in peer.calls) == CALLS
    else:
        prefix = {"grpc": "grpcs://", "http": "https://"}[transport] if place == "amid a handshake" else ""
        with Parrot() as parrot:
            yield prefix + parrot.address, lambda: parrot.connected


@pytest.mark.parametrize(("transport", "place", "verdict"), CASES)
async def test_calls_under_way(transport: str, place: str, verdict: type, monkeypatch: pytest.MonkeyPatch) -> None:
    # closing waits for the end of its calls for as long as a busy machine takes
    monkeypatch.setattr("swagent_transports._http_calls.TRANSPORT_CALL_END", 10.0)
    found: list[type] = []
    with peer_at(place, transport) as (address, are_there):
        async with CLIENTS[transport](address, request_timeout=30.0) as client:

            async def call() -> None:
                found.append(type(await client.verdict(b"a record")))

            async with anyio.create_task_group() as group:
                for _ in range(CALLS):
                    group.start_soon(call)
                await until(are_there)
                if place == "dialling":
                    await anyio.sleep(0.02)  # until they are in the transport's own loop
                with anyio.fail_after(AT_ONCE):
                    await client.run(client.transport.aclose)
                assert transport != "http" or not client.transport._under_way, "none outlives the transport"
            assert len(found) == CALLS
            # over Kafka one batch at a time leaves for a partition, and the others have not
            assert set(found) - ({RetryableError} if transport == "kafka" else set()) <= {verdict}
            assert verdict in found
            assert isinstance(await client.verdict(b"a record"), RetryableError), "it dials no more"
