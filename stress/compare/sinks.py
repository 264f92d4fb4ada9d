"""Where the contestants send to: counting collectors in processes of their own, and a Kafka broker."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Protocol, cast

import psutil
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from e2e.servers.kafka import Kafka
from e2e.servers.ports import free_ports

from ..environments import ROOT

_SEGMENT_PATHS = (
    "/skywalking.v3.TraceSegmentReportService/collect",
    "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    "/v3/segments",
    "/v3/segment",
)
_LOG_PATHS = (
    "/skywalking.v3.LogReportService/collect",
    "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
    "/v3/logs",
)
_TOPICS = ("skywalking-segments", "skywalking-logs", "skywalking-meters", "skywalking-managements")
_LONGEST_SETTLING = 10.0


class SinkError(Exception):
    """A sink did not come up, or did not come to rest."""


@dataclass(frozen=True)
class Delivered:
    """What a sink has taken since it was started. Of OpenTelemetry the segments are spans."""

    segments: int
    logs: int

    def __sub__(self, earlier: Delivered) -> Delivered:
        return Delivered(self.segments - earlier.segments, self.logs - earlier.logs)


class Sink(Protocol):
    """What is common to both kinds."""

    address: str

    def count(self) -> Delivered:
        """What came so far, when nobody is sending any more."""
        ...


class Nothing:
    """The sink of who sends nothing."""

    address = ""

    def count(self) -> Delivered:
        """Nothing."""
        return Delivered(0, 0)


class Collector:
    """A collector of `stress.collectors`; also what the application calls."""

    def __init__(self, kind: str, stack: ExitStack) -> None:
        (port,) = free_ports(1)
        self.address = f"127.0.0.1:{port}"
        command = [sys.executable, "-m", "stress.collectors", kind, str(port)]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        stack.callback(self._close)
        if self._ask("") != "listening\n":
            raise SinkError(f"the {kind} collector did not start")

    def _ask(self, line: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line)
        self._process.stdin.flush()
        return self._process.stdout.readline()

    def count(self) -> Delivered:
        """What came so far. The connections of those who ended are read to their end first."""
        self._wait_alone()
        counts = cast("dict[str, int]", json.loads(self._ask("\n")))
        return Delivered(
            sum(counts.get(path, 0) for path in _SEGMENT_PATHS), sum(map(counts.get, _LOG_PATHS, (0,) * 3))
        )

    def _wait_alone(self) -> None:
        deadline = time.monotonic() + _LONGEST_SETTLING
        process = psutil.Process(self._process.pid)
        while any(each.status != psutil.CONN_LISTEN for each in process.net_connections("tcp")):
            if time.monotonic() > deadline:
                raise SinkError("a connection to the collector outlived its application")
            time.sleep(0.01)  # another process's sockets have no event to wait for

    def _close(self) -> None:
        self._process.kill()
        self._process.communicate()


class Broker:
    """A real Kafka broker; what came is where its topics end."""

    def __init__(self, stack: ExitStack) -> None:
        self._kafka = stack.enter_context(Kafka())
        self.address = self._kafka.address
        asyncio.run(self._create_topics())

    def count(self) -> Delivered:
        """What came so far."""
        return asyncio.run(self._count())

    async def _create_topics(self) -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=self.address)
        await admin.start()
        try:
            await admin.create_topics([NewTopic(name, num_partitions=1, replication_factor=1) for name in _TOPICS])
        finally:
            await admin.close()

    async def _count(self) -> Delivered:
        consumer = AIOKafkaConsumer(bootstrap_servers=self.address)
        await consumer.start()
        try:
            places = [TopicPartition(topic, 0) for topic in _TOPICS[:2]]
            ends = await consumer.end_offsets(places)
            return Delivered(*(ends[place] for place in places))
        finally:
            await consumer.stop()


class Sinks:
    """The sinks of a run, each started when it is first asked for."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._sinks: dict[str, Sink] = {"": Nothing()}
        self.upstream = f"http://{Collector('http', stack).address}/"

    def find(self, kind: str) -> Sink:
        """By its name: grpc, http, otlp, kafka, or none."""
        if kind not in self._sinks:
            self._sinks[kind] = Broker(self._stack) if kind == "kafka" else Collector(kind, self._stack)
        return self._sinks[kind]
