"""The records in the broker afterwards: topics, keys and bytes."""

from __future__ import annotations

from typing import Any

import pytest

from kit.each import INSTANCE, kafka_client
from kit.kafka_broker import KafkaBroker
from swagent.signals import Signal
from swagent_proto import wire

pytestmark = pytest.mark.anyio


def segment(number: int, size: int = 0) -> bytes:
    return wire.segment_object(f"trace-{number}", f"segment-{number}", [], "s" * size, "shop@host", False)


def log(number: int, segment_id: str | None) -> bytes:
    context = None if segment_id is None else wire.trace_context("trace", segment_id, 0)
    body = wire.log_data_body("text", wire.text_log(f"line {number}"), None, None)
    return wire.log_data(1_700_000_000_000, "shop", "shop@host", "/", body, context, None, "")


def meters(value: float) -> bytes:
    single = wire.meter_single_value("load", [], value)
    return wire.meter_data_collection([wire.meter_data(single, None, "shop", "shop@host", 1_700_000_000_000)])


async def test_topics_keys_and_bytes() -> None:
    segments, logs, collection = [segment(number) for number in range(200)], [log(1, "seg-1"), log(2, None)], meters(1)
    with KafkaBroker() as broker:
        async with kafka_client(broker.address, namespace="west", kafka_topic_log="mine") as client:
            await client.run(client.transport.report_properties, INSTANCE)
            await client.run(client.transport.keep_alive, INSTANCE)
            await client.send(*segments)
            await client.run(client.transport.send, Signal.SEGMENT, [])
            await client.send(*logs, signal=Signal.LOG)
            await client.send(collection, signal=Signal.METER)
    assert broker.records == {
        "west-skywalking-segments": [(b"segment-%d" % number, record) for number, record in enumerate(segments)],
        "west-mine": [(b"seg-1", logs[0]), (b"shop@host", logs[1])],
        "west-skywalking-meters": [(b"shop@host", collection)],
        "west-skywalking-managements": [
            (b"register-shop@host", wire.instance_properties("shop", "shop@host", INSTANCE.properties, "")),
            (b"shop@host", wire.instance_ping_pkg("shop", "shop@host", "")),
        ],
    }


async def test_batches_take_turns_over_partitions_and_meters_keep_theirs() -> None:
    with KafkaBroker(partitions=3) as broker:
        async with kafka_client(broker.address) as client:
            for number in range(3):
                await client.send(segment(number), segment(number + 10))
                await client.send(meters(number), signal=Signal.METER)
    assert sorted(each for each in broker.places if "segments" in each[0]) == [
        ("skywalking-segments", number) for number in range(3)
    ]
    assert len({each for each in broker.places if "meters" in each[0]}) == 1


@pytest.mark.parametrize(
    ("settings", "size", "batches"), [({}, 50_000, 3), ({"kafka_compression_type": "gzip"}, 500, 1)], ids=str
)
async def test_records_arrive_in_their_order(settings: dict[str, Any], size: int, batches: int) -> None:
    """Too large for one of Kafka's batches, or compressed."""
    records = [segment(number, size) for number in range(40)]
    with KafkaBroker() as broker:
        async with kafka_client("127.0.0.1:1", broker.address, request_timeout=10.0, **settings) as client:
            await client.send(*records)
    assert [value for _, value in broker.records["skywalking-segments"]] == records
    assert len(broker.places) == batches
