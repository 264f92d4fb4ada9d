"""Collectors, one a transport: in a thread of the test's own, keeping what comes, for many agents at once.

    with sink_of("kafka") as sink:
        config = Config(service="shop", **sink.settings)
        ...
        assert sink.ids == Counter(expected)

They are honest and quick; only `hold` lets a test keep an answer back. A record that is torn does not parse, which is
an error at the sink's end.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from kit.http_answers import confirm
from kit.http_peer import Call, HttpPeer
from kit.kafka_broker import KafkaBroker
from kit.servers import collector_thread
from swagent.collector.intake.translation import keep_alive_of, properties_of
from swagent.collector.store.arrivals import Arrivals
from swagent.collector.store.protocol import parse, parse_json
from swagent.collector.store.records import KeepAlive, Properties, Record
from swagent.collector.store.trace_records import Segment
from swagent.collector.store.trace_translation import decode_segment, segment_of

_VARIABLES = {
    "protocol": "SW_AGENT_PROTOCOL",
    "collector": "SW_AGENT_COLLECTOR_BACKEND_SERVICES",
    "kafka_bootstrap_servers": "SW_KAFKA_BOOTSTRAP_SERVERS",
}


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
    """The records that came, and the settings to send them here.

    :ivar settings: the settings of a `Config` that reports here
    :ivar port: where connections go
    :ivar ids: how often each segment came, by its id
    :ivar instances: how many segments came from each instance
    :ivar hold: called with every segment, in the sink's thread, before it is answered; may block
    :ivar broker: of Kafka
    """

    def __init__(self, transport: str, address: str, connections: Callable[[], int]) -> None:
        where = "kafka_bootstrap_servers" if transport == "kafka" else "collector"
        self.settings: dict[str, Any] = {"protocol": transport, where: address}
        self.port = int(address.rpartition(":")[2])
        self.ids: Counter[str] = Counter()
        self.instances: Counter[str] = Counter()
        self.hold: Callable[[], None] = lambda: None
        self.broker: KafkaBroker | None = None
        self._connections = connections
        self._lock = threading.RLock()
        self._arrivals = Arrivals(self._lock)
        self._reports: defaultdict[str, Reports] = defaultdict(Reports)

    @property
    def connections(self) -> int:
        """How many were made so far."""
        return self._connections()

    @property
    def environ(self) -> dict[str, str]:
        """The settings as variables."""
        return {_VARIABLES[name]: value for name, value in self.settings.items()}

    def of(self, service: str) -> Reports:
        """The reports of one service so far; they grow."""
        with self._lock:
            return self._reports[service]

    def take(self, record: Record) -> None:
        """Take one record in. The sink's thread."""
        with self._lock:
            self._reports[getattr(record, "service", "")].add(record)
            if isinstance(record, Segment):
                self.ids[record.segment_id] += 1
                self.instances[record.instance] += 1
        self._arrivals.announce(lambda: record)
        if isinstance(record, Segment):
            self.hold()

    async def wait_for(self, condition: Callable[[], bool], timeout: float = 5.0) -> bool:
        """Wait until a condition on what arrived holds; False when it does not within `timeout` seconds."""
        return await self._arrivals.wait_until(condition, timeout)


@contextmanager
def sink_of(transport: str) -> Iterator[Sink]:
    """A collector that takes records over this transport, for as long as the block lasts."""
    with {"grpc": _grpc, "http": _http, "kafka": _kafka}[transport]() as sink:
        yield sink


@contextmanager
def _grpc() -> Iterator[Sink]:
    with collector_thread() as (collector, _):
        accepted: list[object] = []
        opened = collector._server.connections.opened  # type: ignore[union-attr]
        collector._server.connections.opened = lambda each: (accepted.append(each), opened(each))  # type: ignore[union-attr, method-assign, func-returns-value]
        sink = Sink("grpc", collector.address, lambda: len(accepted))
        collector.store.subscribe(sink.take)
        yield sink


@contextmanager
def _http() -> Iterator[Sink]:
    async def answer(call: Call) -> None:
        if not call.is_complete:  # of a client that was killed
            return
        if call.path == "/v3/segments":
            for each in call.json:
                sink.take(segment_of(parse_json("SegmentObject", each)))
        elif call.path == "/v3/management/reportProperties":
            sink.take(properties_of(parse_json("InstanceProperties", call.json)))
        elif call.path == "/v3/management/keepAlive":
            sink.take(keep_alive_of(parse_json("InstancePingPkg", call.json)))
        await confirm(call)

    with HttpPeer(answer) as peer:
        sink = Sink("http", peer.address, lambda: peer.connected)
        yield sink


@contextmanager
def _kafka() -> Iterator[Sink]:
    seen: Counter[str] = Counter()

    async def note(topic: str) -> None:
        new = broker.records[topic][seen[topic] :]
        seen[topic] += len(new)
        for key, value in new:
            if topic == "skywalking-segments":
                sink.take(decode_segment(value))
            elif key.startswith(b"register-"):
                sink.take(properties_of(parse("InstanceProperties", value)))
            elif topic == "skywalking-managements":
                sink.take(keep_alive_of(parse("InstancePingPkg", value)))

    with KafkaBroker() as broker:
        broker.before_answer = note
        sink = Sink("kafka", broker.address, lambda: broker.connected)
        sink.broker = broker
        yield sink
