"""Collectors that keep every byte: over gRPC, HTTP and Kafka, in a thread of the test's own.

    with taker_of("kafka") as taker:
        async with Agent(Config(service="shop", **taker.settings)) as agent:
            ...
        assert taker.segments and b"secret" not in taker.heard()

What came is read by the protocol's own message classes, after a strict check that it is well-formed.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import betterproto

from kit import answers, http_answers
from kit.h2_peer import H2Peer
from kit.http_peer import HttpPeer
from kit.kafka_broker import KafkaBroker
from kit.servers import TcpServer
from swagent.collector.store.protocol import described
from swagent.collector.store.wire_check import check
from swagent.signals import Signal
from swagent_proto import messages

M = TypeVar("M", bound=betterproto.Message)
_GRPC_PATHS = {
    Signal.SEGMENT: b"/skywalking.v3.TraceSegmentReportService/collect",
    Signal.LOG: b"/skywalking.v3.LogReportService/collect",
    Signal.METER: b"/skywalking.v3.MeterReportService/collect",
    Signal.EVENT: b"/skywalking.v3.EventService/collect",
}
_HTTP_PATHS = {Signal.SEGMENT: "/v3/segments", Signal.LOG: "/v3/logs", Signal.EVENT: "/v3/events"}
_TOPICS = {Signal.SEGMENT: "skywalking-segments", Signal.LOG: "skywalking-logs", Signal.METER: "skywalking-meters"}


@dataclasses.dataclass
class Taker:
    """The records that came, and the settings to send them here.

    :ivar settings: the settings of a `Config` that reports here
    :ivar server: where they came to
    :ivar heard: every byte that came: heads, bodies, keys
    :ivar payloads: the records of a signal; of HTTP, whole arrays
    """

    settings: Mapping[str, Any]
    server: TcpServer
    heard: Callable[[], bytes]
    payloads: Callable[[Signal], Sequence[bytes]]

    def _records(self, signal: Signal) -> list[Any]:
        if self.settings["protocol"] != "http":
            return list(self.payloads(signal))
        return [record for array in self.payloads(signal) for record in json.loads(array, parse_constant=_refuse)]

    @property
    def segments(self) -> list[messages.SegmentObject]:
        """Every segment, checked."""
        return [read(each, messages.SegmentObject) for each in self._records(Signal.SEGMENT)]

    @property
    def logs(self) -> list[messages.LogData]:
        """Every log record, checked."""
        return [read(each, messages.LogData) for each in self._records(Signal.LOG)]

    @property
    def meters(self) -> list[messages.MeterData]:
        """Every meter of every period, checked."""
        if self.settings["protocol"] == "grpc":
            return [read(each, messages.MeterData) for each in self._records(Signal.METER)]
        periods = [read(each, messages.MeterDataCollection) for each in self._records(Signal.METER)]
        return [meter for period in periods for meter in period.meter_data]


def read(record: bytes | Mapping[str, Any], kind: type[M]) -> M:
    """A record as a message of its class.

    :raises ValueError: when it is not one
    """
    payload = record if isinstance(record, bytes) else bytes(kind().from_dict(record))
    check(payload, described(kind.__name__))
    message = kind().parse(payload)
    if not isinstance(record, bytes):
        _check_names(record, message)
    return message


def _check_names(record: Mapping[str, Any], message: Any) -> None:
    """The reader leaves out what it does not know, so that is looked for by itself.

    :raises ValueError: when a name is no field's
    """
    fields = {betterproto.Casing.CAMEL(field.name): field.name for field in dataclasses.fields(message)}
    if unknown := set(record) - set(fields):
        raise ValueError(f"{type(message).__name__} has no {unknown}")
    for name, value in record.items():
        inner = getattr(message, fields[name])
        pairs = zip(value, inner, strict=True) if isinstance(value, list) else [(value, inner)]
        for each, read_as in pairs:
            if isinstance(each, dict):
                _check_names(each, read_as)


def texts_of(message: Any) -> Iterator[str]:
    """Every text of a message and of those inside it."""
    for field in dataclasses.fields(message):
        value = getattr(message, field.name, None)  # of a union's fields only one is there
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, str):
                yield each
            elif isinstance(each, betterproto.Message):
                yield from texts_of(each)


@contextmanager
def taker_of(transport: str, port: int = 0) -> Iterator[Taker]:
    """A collector that takes records over this transport, for as long as the block lasts."""
    taker = {"grpc": _grpc, "http": _http, "kafka": _kafka}[transport]()
    taker.server._port = port
    with taker.server as server:
        where = "kafka_bootstrap_servers" if transport == "kafka" else "collector"
        taker.settings = {"protocol": transport, where: server.address}
        yield taker


def _grpc() -> Taker:
    peer = H2Peer(answers.confirm)
    return Taker(
        {},
        peer,
        lambda: b"".join(repr(call.headers).encode() + bytes(call.body) for call in peer.calls),
        lambda signal: [
            record for call in peer.calls if call.headers[b":path"] == _GRPC_PATHS[signal] for record in call.messages
        ],
    )


def _http() -> Taker:
    peer = HttpPeer(http_answers.confirm)
    return Taker(
        {},
        peer,
        lambda: b"".join(repr((call.path, call.headers)).encode() + bytes(call.body) for call in peer.calls),
        lambda signal: [
            bytes(call.body) for call in peer.calls if call.path == _HTTP_PATHS.get(signal) and call.is_complete
        ],
    )


def _kafka() -> Taker:
    broker = KafkaBroker()
    return Taker(
        {},
        broker,
        lambda: b"".join(key + value for records in broker.records.values() for key, value in records),
        lambda signal: [value for _, value in broker.records[_TOPICS[signal]]],
    )


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")
