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

from kit.kafka_topics import TOPICS, count_records, create_topics
from kit.real.kafka import Kafka
from kit.real.ports import free_ports

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
_LONGEST_SETTLING = 10.0


class SinkError(Exception):
    """A sink did not come up, or did not come to rest."""


@dataclass(frozen=True)
class Delivered:
    """The numbers of records that a sink has taken since it was started. Of OpenTelemetry the segments are spans."""

    segments: int
    logs: int

    def __sub__(self, earlier: Delivered) -> Delivered:
        return Delivered(self.segments - earlier.segments, self.logs - earlier.logs)


class Sink(Protocol):
    """The common interface of both kinds."""

    address: str

    def count(self) -> Delivered:
        """Count the records that came so far, when no agent is sending any more."""
        ...


class Nothing:
    """The sink of a contestant that sends nothing."""

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
        """Count the records that came so far. Connections that ended are read to their end first."""
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
        asyncio.run(create_topics(self.address, TOPICS))

    def count(self) -> Delivered:
        """Count the records that came so far."""
        return Delivered(*(asyncio.run(count_records(self.address, topic)) for topic in TOPICS[:2]))


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
