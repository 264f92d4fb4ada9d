"""The embedded collector reads from a real broker: as it comes, and after it was away."""

from __future__ import annotations

import logging
import uuid
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer

from kit.real.kafka import Kafka
from swagent.collector.server import Collector
from swagent.collector.store.records import ThreadSnapshot
from swagent.collector.store.store import Store
from swagent_proto import messages as wire

pytestmark = pytest.mark.anyio


def collector_of(kafka: Kafka, namespace: str, path: Path) -> Collector:
    return Collector(store=Store(path=str(path)), kafka=kafka.address, kafka_namespace=namespace)


async def produce(kafka: Kafka, namespace: str, *records: tuple[str, bytes, bytes]) -> None:
    async with AIOKafkaProducer(bootstrap_servers=kafka.address) as producer:
        for topic, key, value in records:
            await producer.send_and_wait(f"{namespace}-skywalking-{topic}", value, key)


def segment(number: int) -> tuple[str, bytes, bytes]:
    return "segments", b"", bytes(wire.SegmentObject("t", f"s{number}", [], "shop", "i1"))


async def test_every_topic_wrong_records_and_a_restart(
    kafka: Kafka, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    namespace, path = f"c{uuid.uuid4().hex[:8]}", tmp_path / "store.db"
    caplog.set_level(logging.WARNING, "swagent.collector")
    value = wire.MeterSingleValue("m", [], 1.5)
    meter = wire.MeterData(single_value=value, service="shop", service_instance="i1", timestamp=7)
    async with collector_of(kafka, namespace, path) as collector:
        await produce(
            kafka,
            namespace,
            segment(1),
            ("segments", b"", b"\x0a\xff"),
            segment(2),
            ("logs", b"", bytes(wire.LogData(5, "shop", "i1", "", wire.LogDataBody(text=wire.TextLog("hello"))))),
            ("meters", b"i1", bytes(wire.MeterDataCollection([meter]))),
            ("managements", b"register-i1", bytes(wire.InstanceProperties("shop", "i1", []))),
            ("managements", b"i1", bytes(wire.InstancePingPkg("shop", "i1"))),
            ("profilings", b"", bytes(wire.ThreadSnapshot("task", "s1", 9, 2, wire.ThreadStack(["outer"])))),
        )
        store = collector.store
        await store.wait_for(lambda store: store.statistics().received.total() == 7, timeout=20)
        assert sorted(kept.segment_id for kept in store.segments) == ["s1", "s2"]
        assert ([line.content for line in store.logs], [each.value for each in store.meters]) == (["hello"], [1.5])
        assert [each.keep_alives for each in store.instances] == [1]
        assert store.records(ThreadSnapshot) == [ThreadSnapshot("task", "s1", 9, 2, ("outer",))]
    store.close()
    assert "malformed SegmentObject" in caplog.text, "a wrong record is said, and stops nothing"
    await produce(kafka, namespace, segment(3))
    async with collector_of(kafka, namespace, path) as collector:
        await collector.store.wait_for(lambda store: len(store.segments) == 3, timeout=20)
        assert collector.store.statistics().received["segments"] == 1, "nothing is read twice"
    collector.store.close()
