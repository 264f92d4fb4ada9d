"""A connection is made anew at an age, beside the old one, which ends with its last call."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from threading import Event as ThreadEvent
from typing import Any

import anyio
import anyio.to_thread
import pytest
from grpclib.const import Status
from h2.errors import ErrorCodes

from kit import answers, http_answers
from kit.answers import confirm
from kit.client import until
from kit.each import ANSWERS, CLIENTS, PEERS, grpc_client, http_client
from kit.h2_peer import Call, H2Peer
from kit.http_peer import HttpPeer
from swagent.errors import RejectedError
from swagent_transports import _connection_age
from swagent_transports._connection_age import ConnectionAge
from swagent_transports._http_exchange import Exchange
from swagent_transports._resolver import shuffled

_AGE = 1000.0


BEGUN = [("begin", 1000.0)]
REFUSED = [*BEGUN, ("refused", 1000.0)]
AGES: dict[str, tuple[float, list[float], list[tuple[str, float]], float]] = {
    "half of the most at least": (200.0, [0.0], BEGUN, 1100.0),
    "the most at most": (200.0, [1.0], BEGUN, 1200.0),
    "another one each time": (200.0, [1.0, 0.5], BEGUN * 2, 1150.0),
    "shortened by a refusal": (200.0, [1.0, 0.5], REFUSED, 1010.0),
    "not prolonged by one": (200.0, [1.0, 0.0], [*BEGUN, ("refused", 1195.0)], 1195.0),
    "of many refusals the first draws": (200.0, [1.0, 0.5], [*REFUSED, ("refused", 1001.0)], 1010.0),
    "as a new connection's": (200.0, [1.0, 0.5, 1.0], [*REFUSED, *BEGUN], 1200.0),
    "and refused anew": (200.0, [1.0, 0.5, 1.0, 0.0], [*REFUSED, *BEGUN, ("refused", 1195.0)], 1195.0),
    "with zero it stays": (0.0, [], REFUSED, math.inf),
}


@pytest.mark.parametrize(("most", "drawn", "steps", "over_at"), AGES.values(), ids=AGES)
def test_an_age(most: float, drawn: list[float], steps: list[tuple[str, float]], over_at: float) -> None:
    age = ConnectionAge(most, iter(drawn).__next__)
    assert age.over_at == math.inf, "there is no connection yet"
    for step, now in steps:
        getattr(age, step)(now)
    assert age.over_at == over_at


def test_every_address_of_a_name_comes_first_as_often() -> None:
    random = Random(1)
    addresses = ["10.0.0.1", "10.0.0.2", "10.0.0.1", "10.0.0.3"]
    orders = [shuffled(addresses, random) for _ in range(300)]
    assert all(sorted(order) == ["10.0.0.1", "10.0.0.2", "10.0.0.3"] for order in orders)
    assert all(70 < sum(order[0] == each for order in orders) < 130 for each in addresses)


def test_the_family_that_the_system_prefers_stays_first() -> None:
    orders = [shuffled(["fd00::1", "10.0.0.1", "fd00::2", "10.0.0.2"], Random(seed)) for seed in range(20)]
    assert {":" in order[0] and ":" in order[1] for order in orders} == {True}
    assert len({tuple(order) for order in orders}) == 4


@pytest.fixture
def aged(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """Lets the connection in use be due now."""

    def age(client: Any) -> None:
        client.transport._age.over_at = -math.inf

    monkeypatch.setattr(_connection_age, "JITTER", Random(1))
    return age


@pytest.fixture
def lose_names(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Lets no name be resolved from then on; returns those that are asked for."""
    asked: list[str] = []

    async def refuse(host: str, port: int) -> list[str]:
        asked.append(host)
        raise OSError("no such name")

    def lose() -> list[str]:
        for module in ("_dialling", "_http_dialling"):
            monkeypatch.setattr(f"swagent_transports.{module}.resolve", refuse)
        return asked

    return lose


@pytest.mark.anyio
@pytest.mark.parametrize("transport", ["grpc", "http"])
async def test_the_connection_is_kept_where_no_other_can_be_made(
    transport: str, aged: Callable[[Any], None], lose_names: Callable[[], list[str]]
) -> None:
    with PEERS[transport]() as peer:
        async with CLIENTS[transport](peer.address, connection_max_age=_AGE) as client:
            await client.send()
            asked = lose_names()
            aged(client)
            for _ in range(5):
                await client.send()
            await until(lambda: client.transport._age.over_at > 0)
            await client.send()
        assert (len(peer.links), len(asked)) == (1, 1)


@pytest.mark.anyio
@pytest.mark.parametrize(("transport", "refusal"), [("grpc", Status.RESOURCE_EXHAUSTED), ("http", 429), ("http", 503)])
async def test_a_collector_that_refuses_is_left(transport: str, refusal: Any, aged: Callable[[Any], None]) -> None:
    with PEERS[transport]() as peer:
        peer.behave = ANSWERS[transport].status(refusal)
        async with CLIENTS[transport](peer.address, connection_max_age=_AGE) as client:
            assert isinstance(await client.verdict(), RejectedError)
            now = await client.run(_loop_time) if transport == "grpc" else anyio.current_time()
            assert client.transport._age.over_at <= now + _AGE / 10


async def _loop_time() -> float:
    return anyio.current_time()


# -- gRPC --------------------------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_grpc_goes_on_over_the_old_connection_until_the_new_one_is_there(aged: Callable[[Any], None]) -> None:
    with H2Peer(confirm) as peer:
        async with grpc_client(peer.address, connection_max_age=_AGE) as client:
            await client.send()
            aged(client)
            await client.send(b"over the old one")
            await peer.thread.call(peer.links[0].gone.wait)
            assert [len(link.calls) for link in peer.links] == [2, 0]
            for _ in range(5):
                await client.send()
        assert [len(link.calls) for link in peer.links] == [2, 5]


@pytest.mark.anyio
async def test_grpc_lets_the_calls_of_the_old_connection_end(aged: Callable[[Any], None]) -> None:
    go_on = ThreadEvent()

    async def wait_or_confirm(call: Call) -> None:
        while call.messages == [b"slow"] and not go_on.is_set():
            await answers.late(0.005)(call)
        await confirm(call)

    with H2Peer(wait_or_confirm) as peer:
        async with grpc_client(peer.address, connection_max_age=_AGE) as client:
            await client.send()
            async with anyio.create_task_group() as group:
                group.start_soon(client.send, b"slow")
                await until(lambda: len(peer.calls) == 2)
                aged(client)
                await client.send()
                await until(lambda: len(peer.links) == 2)
                channel: Any = client.transport._channel
                await until(lambda: channel._renewal is None)
                await client.send(b"over the new one")
                assert not peer.links[0].gone.is_set()
                go_on.set()
            await peer.thread.call(peer.links[0].gone.wait)
        assert [len(link.calls) for link in peer.links] == [3, 1]


@pytest.mark.anyio
async def test_grpc_ends_while_a_connection_is_made_anew(aged: Callable[[Any], None]) -> None:
    with H2Peer(confirm) as peer:
        async with grpc_client(peer.address, connection_max_age=_AGE) as client:
            await client.send()
            peer.greets = False
            aged(client)
            await client.send()
            await until(lambda: len(peer.links) == 2)
        assert len(peer.calls) == 2


# -- HTTP --------------------------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_http_moves_to_another_connection_with_a_call(aged: Callable[[Any], None]) -> None:
    with HttpPeer(http_answers.confirm) as peer:
        async with http_client(peer.address, connection_max_age=_AGE) as client:
            await client.send()
            aged(client)
            await client.send()
            await client.send()
            assert len(peer.links) == 2
            await peer.thread.call(peer.links[0].gone.wait)
        assert len(peer.calls) == 3


@pytest.mark.anyio
async def test_the_end_of_an_old_connection_leaves_the_new_one_alone(aged: Callable[[Any], None]) -> None:
    broken, go_on = ThreadEvent(), ThreadEvent()

    async def behave(call: Call) -> None:
        if call.messages == [b"old"]:
            await anyio.to_thread.run_sync(broken.wait)
            await answers.reset(ErrorCodes.INTERNAL_ERROR)(call)
            return
        if call.messages == [b"new"]:
            await anyio.to_thread.run_sync(go_on.wait)
        await confirm(call)

    verdicts: dict[bytes, Any] = {}
    with H2Peer(behave) as peer:
        async with grpc_client(peer.address, connection_max_age=_AGE) as client, anyio.create_task_group() as group:

            async def send(name: bytes) -> None:
                verdicts[name] = await client.verdict(name)

            await client.send()
            group.start_soon(send, b"old")
            await until(lambda: len(peer.calls) == 2)
            aged(client)
            await client.send()
            channel: Any = client.transport._channel
            await until(lambda: len(peer.links) == 2 and channel._renewal is None)
            group.start_soon(send, b"new")
            await until(lambda: len(peer.links[1].calls) == 1)
            broken.set()
            await until(lambda: b"old" in verdicts)
            go_on.set()
    assert verdicts[b"new"] is None


@pytest.mark.anyio
async def test_a_renewal_that_ends_as_the_transport_closes_leaves_no_connection(
    aged: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    original, former = Exchange.run, list[Any]()
    with HttpPeer(http_answers.confirm) as peer:
        async with http_client(peer.address, connection_max_age=_AGE) as client:
            await client.send()
            calls: Any = client.transport
            aged(client)

            async def run(exchange: Any, http: Any) -> None:
                await original(exchange, http)
                monkeypatch.setattr(Exchange, "run", original)
                # as closing does up to its first wait, in another task, when this one is about to go on
                calls._is_closed = True
                for each in tuple(calls._under_way):
                    each.scope.cancel()
                former.append(calls._pool)

            monkeypatch.setattr(Exchange, "run", run)
            await client.verdict()
            await former[0].retire()
            assert calls._pool._is_closed
