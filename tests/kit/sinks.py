"""Collectors, one a transport: in a thread of the test's own, counting every segment.

    with sink_of("kafka") as sink:
        config = Config(service="shop", **sink.settings)
        ...
        assert sink.ids == Counter(expected)

They are honest and quick; only `hold` lets a test keep an answer back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kit.http_answers import confirm
from kit.http_peer import Call, HttpPeer
from kit.kafka_broker import KafkaBroker
from kit.servers import collector_thread
from swagent.collector.store.trace_records import Segment
from swagent_transports._kafka_keys import read_field

_TOPIC = "skywalking-segments"
_INSTANCE = 5  # in a SegmentObject; reading all of it takes too long here


class Sink:
    """The segments that came, and the settings to send them here.

    :ivar settings: the settings of a `Config` that reports here
    :ivar ids: how often each segment came, by its id
    :ivar instances: how many segments came from each instance
    :ivar hold: called with every batch of segments, in the sink's thread, before it is answered; may block
    :ivar connections: how many connections were made so far
    """

    def __init__(self, settings: dict[str, Any], connections: Callable[[], int]) -> None:
        self.settings = settings
        self.ids: Counter[str] = Counter()
        self.instances: Counter[str] = Counter()
        self.hold: Callable[[], None] = lambda: None
        self._connections = connections

    @property
    def connections(self) -> int:
        return self._connections()

    @property
    def environ(self) -> dict[str, str]:
        """The same settings as variables."""
        return {_VARIABLES[name]: value for name, value in self.settings.items()}

    def note(self, segment_id: str, instance: str) -> None:
        """Count one segment."""
        self.ids[segment_id] += 1
        self.instances[instance] += 1


_VARIABLES = {
    "protocol": "SW_AGENT_PROTOCOL",
    "collector": "SW_AGENT_COLLECTOR_BACKEND_SERVICES",
    "kafka_bootstrap_servers": "SW_KAFKA_BOOTSTRAP_SERVERS",
}


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
        sink = Sink({"protocol": "grpc", "collector": collector.address}, lambda: len(accepted))

        def note(record: object) -> None:
            if isinstance(record, Segment):
                sink.note(record.segment_id, record.instance)
                sink.hold()

        collector.store.subscribe(note)
        yield sink


@contextmanager
def _http() -> Iterator[Sink]:
    async def answer(call: Call) -> None:
        if call.path == "/v3/segments" and call.is_complete:
            for segment in call.json:
                sink.note(segment["traceSegmentId"], segment["serviceInstance"])
            sink.hold()
        await confirm(call)

    with HttpPeer(answer) as peer:
        sink = Sink({"protocol": "http", "collector": peer.address}, lambda: peer.connected)
        yield sink


@contextmanager
def _kafka() -> Iterator[Sink]:
    async def note(topic: str) -> None:
        if topic == _TOPIC:
            seen = sum(sink.ids.values())
            for key, value in broker.records[topic][seen:]:
                sink.note(key.decode(), read_field(value, _INSTANCE).decode())
            sink.hold()

    with KafkaBroker() as broker:
        broker.before_answer = note
        sink = Sink({"protocol": "kafka", "kafka_bootstrap_servers": broker.address}, lambda: broker.connected)
        yield sink
