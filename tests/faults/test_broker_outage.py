"""The Kafka broker is away at the start and once more in between: the application serves on, all is accounted for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from aiokafka import AIOKafkaConsumer

from e2e.fixtures import make
from e2e.services import loop_of, wait_served
from faults.covering import covers
from faults.loaded_app import load, serve_app, stop, wait_delivered
from kit.real.kafka import Kafka
from kit.real.ports import free_ports
from kit.servers import dead_address

pytestmark = [pytest.mark.anyio, pytest.mark.e2e]

RATE = 100
SECONDS = 30
# Seconds: records are given up after 60, and the agent may rest for 30 when the broker is back.
LONG = 25.0
SERVERS = [
    pytest.param(server, marks=covers("F22", "kafka", loop_of(server)))
    for server in ("uvicorn-asyncio", "hypercorn-trio")
]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # of the load; the application chooses its own


@pytest.fixture
def broker() -> Iterator[Kafka]:
    """A broker that does not run yet."""
    kafka = make(Kafka)
    try:
        yield kafka
    finally:
        kafka.close()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("server", SERVERS)
async def test_the_ledger_equals_what_a_consumer_reads(server: str, broker: Kafka, tmp_path: Path) -> None:
    (app_port,) = free_ports(1)
    output = tmp_path / "output"
    environ = {
        "SW_AGENT_PROTOCOL": "kafka",
        "SW_KAFKA_BOOTSTRAP_SERVERS": broker.address,
        "SW_AGENT_LOGGING_LEVEL": "debug",
    }
    with output.open("w") as file, serve_app(server, app_port, environ, file) as app:
        await wait_served(f"http://127.0.0.1:{app_port}")
        outages: list[float] = []
        async with anyio.create_task_group() as group:
            group.start_soon(_come_and_go, broker, app_port, outages)
            answered = await load(app_port, RATE, SECONDS)
        # the stop alone has five seconds for all that waits
        await wait_delivered(app_port, RATE)
        ledger = await anyio.to_thread.run_sync(stop, app, output)
    seen = Counter(await _keys(broker.address, "skywalking-segments"))
    print(ledger, len(seen), outages)
    assert answered == ledger["offered"] == RATE * SECONDS, "every request was answered and recorded"
    assert ledger["balanced"]
    assert ledger["queued"] == ledger["in_flight"] == 0
    assert set(ledger["dropped"]) <= {"ambiguous"} | ({"expired"} if max(outages) > LONG else set())
    assert max(seen.values()) == 1, "nothing arrived twice"
    ambiguous = ledger["dropped"].get("ambiguous", 0)
    assert ledger["confirmed"] <= len(seen) <= ledger["confirmed"] + ambiguous
    assert ambiguous <= 2 * RATE
    assert "Traceback" not in output.read_text()


@pytest.mark.parametrize("server", SERVERS)
async def test_stopping_while_the_broker_is_away_keeps_its_deadline(server: str, tmp_path: Path) -> None:
    (app_port,) = free_ports(1)
    output = tmp_path / "output"
    with dead_address() as away, output.open("w") as file:
        environ = {"SW_AGENT_PROTOCOL": "kafka", "SW_KAFKA_BOOTSTRAP_SERVERS": away}
        with serve_app(server, app_port, environ, file) as app:
            assert await load(app_port, RATE, 1) == RATE
            ledger = await anyio.to_thread.run_sync(stop, app, output)
    assert ledger["stop_seconds"] <= 5.5
    assert ledger["balanced"]
    assert ledger["dropped"] == {"shutdown": RATE}


async def _come_and_go(broker: Kafka, app_port: int, outages: list[float]) -> None:
    """Away for 3 s, here for 6 s, away for 8 s, here for the rest.

    :param outages: gets how many seconds each of them took, with the broker's start
    """
    outages.append(await _stay_away(broker, 3))
    await anyio.sleep(6)
    # killed while the agent sends what the outage left, four full batches would be ambiguous
    await wait_delivered(app_port, RATE)
    await anyio.to_thread.run_sync(broker.kill)
    outages.append(await _stay_away(broker, 8))


async def _stay_away(broker: Kafka, seconds: float) -> float:
    began = anyio.current_time()
    await anyio.sleep(seconds)
    await anyio.to_thread.run_sync(broker.start)
    return anyio.current_time() - began


async def _keys(address: str, topic: str) -> list[bytes]:
    """The keys of all records of a topic, from its first offset to its end."""
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=address, auto_offset_reset="earliest", group_id=None)
    await consumer.start()
    try:
        ends = await consumer.end_offsets(list(consumer.assignment()))
        keys: list[bytes] = []
        while any([await consumer.position(partition) < end for partition, end in ends.items()]):
            batches = await consumer.getmany(timeout_ms=1000)
            keys += [record.key for records in batches.values() for record in records]
        return keys
    finally:
        await consumer.stop()
