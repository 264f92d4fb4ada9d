"""A broker that is away, killed or frozen: the verdict on each batch is true, and nothing is left."""

from __future__ import annotations

import asyncio
from collections import Counter

import anyio
import pytest
from anyio import CancelScope

from faults.covering import covers
from kit.kafka_client import Client, kafka_client
from kit.kafka_cluster import Cluster
from kit.servers import Parrot
from kit.stopwatch import Stopwatch
from swagent.errors import AmbiguousError, DeliveryError, RetryableError
from swagent.signals import Signal
from swagent_proto import wire

pytestmark = pytest.mark.anyio
NOWHERE = "127.0.0.1:1"


def segment(number: int) -> bytes:
    return wire.segment_object("trace", str(number), [], "shop", "shop@host", False)


async def test_closed_while_it_connects() -> None:
    with Parrot(b"") as parrot:
        async with kafka_client(parrot.address, request_timeout=5.0) as client, anyio.create_task_group() as group:
            found: list[DeliveryError | None] = []

            async def send() -> None:
                found.append(await client.verdict(segment(1)))

            group.start_soon(send)
            await anyio.sleep(0.1)
            watch = Stopwatch()
            with anyio.fail_after(5):
                await client.run(client.transport.aclose)
            assert watch.own_seconds < 0.5
        assert isinstance(found[0], RetryableError)


async def test_closed_before_a_call_had_its_turn() -> None:
    async with kafka_client(NOWHERE) as client:

        async def send_and_close() -> None:
            call = asyncio.ensure_future(client.transport.send(Signal.SEGMENT, [segment(1)]))
            await asyncio.sleep(0)
            await client.transport.aclose()
            with pytest.raises(RetryableError):
                await call

        await client.run(send_and_close)


@covers("F22", "kafka")
async def test_down_at_the_start_and_again_later(cluster: Cluster) -> None:
    await cluster.vanish()
    async with kafka_client(cluster.address, namespace=cluster.namespace) as client:
        assert isinstance(await client.probe(), RetryableError)
        assert isinstance(await client.verdict(segment(1)), RetryableError)
        await cluster.serve()
        await client.wait_confirmed()
        await client.send(segment(2))
        await cluster.vanish()
        assert await client.verdict(segment(3)) is not None
        assert isinstance(await client.verdict(segment(4)), RetryableError)
        await cluster.serve()
        await client.wait_confirmed()
        await client.send(segment(5))
        await cluster.vanish()
        # the fixture of the client closes it within half a second while the broker is down
    await cluster.serve()
    found = [key for key, _ in await cluster.records(cluster.topic("segments"))]
    assert [key for key in found if key != b"3"] == [b"2", b"5"]


@covers("F22", "kafka")
async def test_killed_under_load(cluster: Cluster) -> None:
    verdicts: dict[int, DeliveryError | None] = {}

    async def produce(client: Client, first: int, until: anyio.Event) -> None:
        number = first
        while not until.is_set():
            verdicts[number] = await client.verdict(segment(number))
            if verdicts[number] is not None:
                await anyio.sleep(0.05)
            number += 4

    def confirmed_since(before: set[int], first: int) -> bool:
        later = [each for number, each in verdicts.items() if number % 4 == first and number not in before]
        return later.count(None) >= 2

    async with kafka_client(cluster.address, namespace=cluster.namespace) as client:
        await client.wait_confirmed()
        until = anyio.Event()
        async with anyio.create_task_group() as group:
            for first in range(4):
                group.start_soon(produce, client, first, until)
            await anyio.sleep(0.3)
            await cluster.vanish()
            await anyio.sleep(0.3)
            await cluster.serve()
            await client.wait_confirmed()
            before = set(verdicts)
            with anyio.fail_after(20):  # each is confirmed again after the restart
                while not all(confirmed_since(before, first) for first in range(4)):  # noqa: ASYNC110
                    await anyio.sleep(0.05)
            until.set()
    await _is_true(cluster, verdicts)


@covers("F05", "kafka")
@covers("F22", "kafka")
async def test_frozen_under_load(cluster: Cluster) -> None:
    verdicts: dict[int, DeliveryError | None] = {}
    async with kafka_client(cluster.address, namespace=cluster.namespace, request_timeout=1.0) as client:
        await client.wait_confirmed()
        await client.send(segment(0))
        verdicts[0] = None
        await cluster.pause()

        async def send(number: int) -> None:
            verdicts[number] = await client.verdict(segment(number))

        watch = Stopwatch()
        async with anyio.create_task_group() as group:
            for number in range(1, 9):
                group.start_soon(send, number)
        assert watch.own_seconds < 1.5
        assert {type(verdicts[number]) for number in range(1, 9)} <= {AmbiguousError, RetryableError}
        assert AmbiguousError in {type(verdict) for verdict in verdicts.values()}
        cluster.resume()
        await client.wait_confirmed()
        await send(9)
        assert verdicts[9] is None
    await _is_true(cluster, verdicts)


@covers("F05", "kafka")
@covers("F22", "kafka")
async def test_closed_while_frozen(cluster: Cluster) -> None:
    async with kafka_client(cluster.address, namespace=cluster.namespace, request_timeout=5.0) as client:
        await client.wait_confirmed()
        await cluster.pause()
        found: list[DeliveryError | None] = []

        async def send() -> None:
            found.append(await client.verdict(*[bytes(200_000)] * 5))

        async with anyio.create_task_group() as group:
            for _ in range(12):
                group.start_soon(send)
            await anyio.sleep(0.3)
            watch = Stopwatch()
            with anyio.fail_after(5):
                await client.run(client.transport.aclose)
            assert watch.own_seconds < 0.5
    assert all(isinstance(error, (AmbiguousError, RetryableError)) for error in found)
    assert len(found) == 12


@covers("F05", "kafka")
async def test_cancelled_while_frozen(cluster: Cluster) -> None:
    async with kafka_client(cluster.address, namespace=cluster.namespace) as client:
        await client.wait_confirmed()
        await cluster.pause()
        watch = Stopwatch()
        with CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(client.send, segment(1))
                group.start_soon(client.send, segment(2))
                await anyio.sleep(0.1)
                scope.cancel()
        assert watch.own_seconds < 0.4
        cluster.resume()
        await client.wait_confirmed()
        await client.send(segment(3))
    found = Counter(key for key, _ in await cluster.records(cluster.topic("segments")))
    assert found[b"3"] == 1
    assert max(found.values()) == 1


async def test_every_task_of_the_loop_is_cancelled(cluster: Cluster) -> None:
    async with kafka_client(cluster.address, namespace=cluster.namespace, request_timeout=1.0) as client:
        await client.wait_confirmed()
        await client.send(segment(1))

        async def sweep() -> None:
            for task in asyncio.all_tasks() - client._known - {asyncio.current_task()}:
                task.cancel()

        await client.run(sweep)
        await client.wait_confirmed(3.0)
        await client.send(segment(2))
    found = [key for key, _ in await cluster.records(cluster.topic("segments"))]
    assert found == [b"1", b"2"]


async def _is_true(cluster: Cluster, verdicts: dict[int, DeliveryError | None]) -> None:
    """Confirmed records are there, unsent ones are not, and none is there twice."""
    found = Counter(int(key or b"-1") for key, _ in await cluster.records(cluster.topic("segments")))
    for number, verdict in verdicts.items():
        if verdict is None:
            assert found[number] == 1, f"{number} was confirmed"
        elif isinstance(verdict, RetryableError):
            assert found[number] == 0, f"{number} was said to be unsent: {verdict}"
    assert max(found.values()) == 1, "nothing is there twice"
