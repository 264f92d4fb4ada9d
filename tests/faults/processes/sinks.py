"""One sink a transport, for many applications at once, which it distinguishes by their services' names.

A record that is torn does not parse, and that is a problem the sink remembers.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition

from kit.http_answers import confirm
from kit.http_peer import Call, HttpPeer
from kit.kafka_cluster import Cluster
from kit.loop_thread import LoopThread
from kit.real.kafka import Kafka
from kit.servers import collector_thread
from swagent.collector.intake.translation import keep_alive_of, properties_of
from swagent.collector.store.arrivals import Arrivals
from swagent.collector.store.protocol import parse, parse_json
from swagent.collector.store.records import KeepAlive, Properties, Record
from swagent.collector.store.trace_records import Segment
from swagent.collector.store.trace_translation import decode_segment, segment_of

_STARTING = 60


@dataclass
class Reports:
    """The reports of one service.

    :ivar traces: the ids of the traces of which a segment came
    :ivar ids: how often each segment came, by its id
    :ivar instances: the process ids that instances reported, by their names
    :ivar beats: when properties and keep-alives came, in monotonic seconds
    """

    segments: list[Segment] = field(default_factory=list[Segment])
    traces: set[str] = field(default_factory=set[str])
    ids: Counter[str] = field(default_factory=Counter[str])
    instances: dict[str, str] = field(default_factory=dict[str, str])
    beats: list[float] = field(default_factory=list[float])

    @property
    def repeated(self) -> list[str]:
        """The ids of the segments that came more than once."""
        return [each for each, count in self.ids.items() if count > 1]

    def add(self, record: Record) -> None:
        """Take one record in."""
        if isinstance(record, Segment):
            self.segments.append(record)
            self.traces.add(record.trace_id)
            self.ids[record.segment_id] += 1
        elif isinstance(record, (Properties, KeepAlive)):
            self.beats.append(time.monotonic())
            if isinstance(record, Properties):
                self.instances[record.instance] = dict(record.properties)["Process No."]


class Sink:
    """The records that arrived over one transport.

    :ivar environ: the variables of an application that reports here
    :ivar port: where its connections go
    :ivar problems: the errors of records that did not parse
    """

    def __init__(self, environ: Mapping[str, str], port: int) -> None:
        self.environ = environ
        self.port = port
        self.problems: list[Exception] = []
        self._lock = threading.RLock()
        self._arrivals = Arrivals(self._lock)
        self._reports: defaultdict[str, Reports] = defaultdict(Reports)

    def of(self, service: str) -> Reports:
        """The reports of one service so far; they grow."""
        with self._lock:
            return self._reports[service]

    def note(self, record: Record) -> None:
        """Take one record in. Any thread."""
        with self._lock:
            self._reports[getattr(record, "service", "")].add(record)
        self._arrivals.announce(lambda: record)

    def take(self, read: Callable[[], Record]) -> None:
        """Read one record and take it in. Any thread."""
        try:
            record = read()
        except Exception as error:
            self.problems.append(error)
        else:
            self.note(record)

    async def wait_for(self, condition: Callable[[], bool], timeout: float = 5.0) -> bool:
        """Wait until a condition on what arrived holds; False when it does not within `timeout` seconds."""
        return await self._arrivals.wait_until(condition, timeout)


@contextmanager
def grpc_sink() -> Iterator[Sink]:
    """The embedded collector."""
    with collector_thread() as (collector, _):
        environ = {"SW_AGENT_COLLECTOR_BACKEND_SERVICES": collector.address}
        sink = Sink(environ, int(collector.address.rpartition(":")[2]))
        collector.store.subscribe(sink.note)
        yield sink


@contextmanager
def http_sink() -> Iterator[Sink]:
    """An HTTP server that takes what OAP takes."""

    async def answer(call: Call) -> None:
        if not call.is_complete:  # of a client that was killed
            return
        if call.path == "/v3/segments":
            for each in call.json:
                sink.take(partial(_segment_of_json, each))
        elif call.path == "/v3/management/reportProperties":
            sink.take(lambda: properties_of(parse_json("InstanceProperties", call.json)))
        elif call.path == "/v3/management/keepAlive":
            sink.take(lambda: keep_alive_of(parse_json("InstancePingPkg", call.json)))
        await confirm(call)

    with HttpPeer(answer) as peer:
        environ = {"SW_AGENT_PROTOCOL": "http", "SW_AGENT_COLLECTOR_BACKEND_SERVICES": peer.address}
        sink = Sink(environ, peer.port)
        yield sink


@contextmanager
def kafka_sink(kafka: Kafka) -> Iterator[Sink]:
    """Topics of a real broker, and a consumer that reads them as they fill."""
    with LoopThread() as thread:
        cluster = Cluster(kafka, thread)
        thread._submit(cluster.create_topics).result(_STARTING)  # run() is for what takes no time
        environ = {
            "SW_AGENT_PROTOCOL": "kafka",
            "SW_KAFKA_BOOTSTRAP_SERVERS": kafka.address,
            "SW_KAFKA_NAMESPACE": cluster.namespace,
        }
        sink = Sink(environ, kafka.ports[0])
        reading = _Reading(cluster, sink)
        thread._submit(reading.start).result(_STARTING)
        try:
            yield sink
        finally:
            thread.run(reading.stop)


class _Reading:
    """The consumer of a Kafka sink."""

    def __init__(self, cluster: Cluster, sink: Sink) -> None:
        self._address = cluster.address
        self._segments, self._managements = cluster.topic("segments"), cluster.topic("managements")
        self._sink = sink

    async def start(self) -> None:
        self._consumer = AIOKafkaConsumer(bootstrap_servers=self._address, auto_offset_reset="earliest")
        await self._consumer.start()
        self._consumer.assign([TopicPartition(topic, 0) for topic in (self._segments, self._managements)])
        self._task = asyncio.ensure_future(self._read())

    async def stop(self) -> None:
        self._task.cancel()
        await self._consumer.stop()

    async def _read(self) -> None:
        async for record in self._consumer:
            self._sink.take(partial(self._parse, record.topic, record.key, record.value))

    def _parse(self, topic: str, key: bytes, value: bytes) -> Record:
        if topic == self._segments:
            return decode_segment(value)
        if key.startswith(b"register-"):
            return properties_of(parse("InstanceProperties", value))
        return keep_alive_of(parse("InstancePingPkg", value))


def _segment_of_json(value: Mapping[str, Any]) -> Record:
    return segment_of(parse_json("SegmentObject", value))
