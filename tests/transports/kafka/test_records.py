"""The records in the broker afterwards: topics, keys and bytes, read from offset 0."""

from __future__ import annotations

import anyio
import pytest

from faults.covering import covers
from kit.kafka_client import INSTANCE, kafka_client
from kit.kafka_cluster import Cluster
from kit.stopwatch import Stopwatch
from swagent.errors import RejectedError
from swagent.signals import Signal
from swagent_proto import wire

pytestmark = pytest.mark.anyio


def segment(number: int, size: int = 0) -> bytes:
    return wire.segment_object(f"trace-{number}", f"segment-{number}", [], "s" * size, "shop@host", False)


def log(number: int, segment_id: str | None) -> bytes:
    context = None if segment_id is None else wire.trace_context("trace", segment_id, 0)
    body = wire.log_data_body("text", wire.text_log(f"line {number}"), None, None)
    return wire.log_data(1_700_000_000_000, "shop", "shop@host", "/", body, context, None, "")


def meters(value: float, instance: str = "shop@host") -> bytes:
    single = wire.meter_single_value("load", [], value)
    return wire.meter_data_collection([wire.meter_data(single, None, "shop", instance, 1_700_000_000_000)])


async def test_topics_keys_and_bytes(cluster: Cluster) -> None:
    segments, logs, collection = [segment(number) for number in range(200)], [log(1, "seg-1"), log(2, None)], meters(1)
    async with kafka_client(cluster.address, namespace=cluster.namespace) as client:
        await client.run(client.transport.report_properties, INSTANCE)
        await client.run(client.transport.keep_alive, INSTANCE)
        await client.send(*segments)
        await client.send(*logs, signal=Signal.LOG)
        await client.send(collection, signal=Signal.METER)
    wanted = [(b"segment-%d" % number, record) for number, record in enumerate(segments)]
    assert await cluster.records(cluster.topic("segments")) == wanted
    assert await cluster.records(cluster.topic("logs")) == [(b"seg-1", logs[0]), (b"shop@host", logs[1])]
    assert await cluster.records(cluster.topic("meters")) == [(b"shop@host", collection)]
    properties = wire.instance_properties("shop", "shop@host", INSTANCE.properties, "")
    ping = wire.instance_ping_pkg("shop", "shop@host", "")
    assert await cluster.records(cluster.topic("managements")) == [
        (b"register-shop@host", properties),
        (b"shop@host", ping),
    ]


async def test_topics_of_the_users_own(cluster: Cluster) -> None:
    async with kafka_client(cluster.address, kafka_topic_segment=cluster.topic("logs")) as client:
        await client.send(segment(1))
    assert await cluster.records(cluster.topic("logs")) == [(b"segment-1", segment(1))]


async def test_batches_take_turns_over_partitions_and_meters_keep_theirs(cluster: Cluster) -> None:
    await cluster.create_topics(partitions=3, namespace=f"{cluster.namespace}-wide")
    async with kafka_client(cluster.address, namespace=f"{cluster.namespace}-wide") as client:
        for number in range(3):
            await client.send(segment(number), segment(number + 10))
            await client.send(meters(number), signal=Signal.METER)
    found = await cluster.partitions(f"{cluster.namespace}-wide-skywalking-segments")
    assert [len(partition) for partition in found] == [2, 2, 2]
    found = await cluster.partitions(f"{cluster.namespace}-wide-skywalking-meters")
    (filled,) = [partition for partition in found if partition]
    assert [value for _, value in filled] == [meters(0), meters(1), meters(2)]


async def test_records_too_large_for_one_kafka_batch_go_as_several(cluster: Cluster) -> None:
    records = [segment(number, size=50_000) for number in range(40)]
    async with kafka_client(cluster.address, namespace=cluster.namespace, request_timeout=10.0) as client:
        await client.send(*records)
    assert [value for _, value in await cluster.records(cluster.topic("segments"))] == records


@pytest.mark.parametrize("compression", ["gzip"])
async def test_compressed(cluster: Cluster, compression: str) -> None:
    records = [segment(number, size=500) for number in range(100)]
    async with kafka_client(cluster.address, namespace=cluster.namespace, kafka_compression_type=compression) as client:
        await client.send(*records)
    assert [value for _, value in await cluster.records(cluster.topic("segments"))] == records


async def test_one_silent_server_of_the_list_is_passed_over(cluster: Cluster) -> None:
    async with kafka_client("127.0.0.1:1", cluster.address, "127.0.0.1:2", namespace=cluster.namespace) as client:
        await client.send(segment(1))


@covers("F22", "kafka")
async def test_a_record_larger_than_the_topic_takes(cluster: Cluster) -> None:
    await cluster.limit(cluster.topic("segments"), 1000)
    async with kafka_client(cluster.address, namespace=cluster.namespace) as client:
        error = await client.verdict(segment(1, size=2000))
        assert isinstance(error, RejectedError)
        assert error.pause == 0.0
        await client.send(segment(2))
    assert await cluster.records(cluster.topic("segments")) == [(b"segment-2", segment(2))]


@covers("F22", "kafka")
async def test_a_topic_that_cannot_be(cluster: Cluster) -> None:
    # two topics must not differ in dots and underscores alone, and the broker's own are not ours to make
    async with kafka_client(cluster.address, kafka_topic_segment="..") as client:
        watch = Stopwatch()
        error = await client.verdict(segment(1))
        assert isinstance(error, RejectedError)
        assert error.pause > 0
        assert watch.own_seconds < 1.9


@covers("F22", "kafka")
async def test_a_login_that_the_broker_does_not_know(cluster: Cluster) -> None:
    login = {"kafka_sasl_plain_username": "agent", "kafka_sasl_plain_password": "open sesame"}
    async with kafka_client(cluster.address, kafka_security_protocol="sasl_plaintext", **login) as client:
        error = await client.probe()
        assert isinstance(error, RejectedError)
        assert error.pause == 60.0
        assert "sesame" not in str(error)


async def test_many_at_once(cluster: Cluster) -> None:
    many = kafka_client(cluster.address, namespace=cluster.namespace, request_timeout=10.0)
    async with many as client, anyio.create_task_group() as group:
        for start in range(0, 2000, 50):
            group.start_soon(client.send, *(segment(number) for number in range(start, start + 50)))
    found = [key or b"" for key, _ in await cluster.records(cluster.topic("segments"))]
    assert sorted(found) == sorted(b"segment-%d" % number for number in range(2000))


async def test_an_empty_batch(cluster: Cluster) -> None:
    async with kafka_client(cluster.address, namespace=cluster.namespace) as client:
        await client.send()
