"""Collectors of OTLP for tests: they take what a transport sends, and read it by the official `opentelemetry-proto`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from opentelemetry.proto.collector.logs.v1 import logs_service_pb2
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

from kit.servers import Behaviour

from . import answers, http_answers
from .h2_peer import Call, H2Peer, message
from .http_peer import HttpPeer

_PACKAGE = "/opentelemetry.proto.collector"
METHODS = {
    "traces": f"{_PACKAGE}.trace.v1.TraceService/Export",
    "logs": f"{_PACKAGE}.logs.v1.LogsService/Export",
    "metrics": f"{_PACKAGE}.metrics.v1.MetricsService/Export",
}
PATHS = {signal: f"/v1/{signal}" for signal in METHODS}
REQUESTS: dict[str, Any] = {
    "traces": trace_service_pb2.ExportTraceServiceRequest,
    "logs": logs_service_pb2.ExportLogsServiceRequest,
    "metrics": metrics_service_pb2.ExportMetricsServiceRequest,
}
REPLIES: dict[str, Any] = {
    "traces": trace_service_pb2.ExportTraceServiceResponse,
    "logs": logs_service_pb2.ExportLogsServiceResponse,
    "metrics": metrics_service_pb2.ExportMetricsServiceResponse,
}
REJECTED = {"traces": "rejected_spans", "logs": "rejected_log_records", "metrics": "rejected_data_points"}


def partial(signal: str, rejected: int, reason: str = "") -> bytes:
    """A reply that says that not all was taken."""
    reply = REPLIES[signal]()
    reply.partial_success.error_message = reason
    setattr(reply.partial_success, REJECTED[signal], rejected)
    return bytes(reply.SerializeToString())


def grpc_reply(payload: bytes) -> Behaviour:
    """A success with a reply."""

    async def behave(call: Call) -> None:
        await call.head(answers.OK_HEAD).data(message(payload)).head(answers.trailers(0), end=True).send()

    return behave


def http_reply(payload: bytes) -> Behaviour:
    """A success with a reply."""
    return http_answers.raw(http_answers.answer(200, "Content-Type: application/x-protobuf", body=payload))


def requests_of(peer: H2Peer | HttpPeer, signal: str = "traces") -> list[Any]:
    """The requests of a signal that came whole, parsed strictly."""
    return [REQUESTS[signal].FromString(each) for each in _bodies(peer, signal)]


def _bodies(peer: H2Peer | HttpPeer, signal: str) -> Iterator[bytes]:
    if isinstance(peer, H2Peer):
        for call in peer.calls:
            if call.headers[b":path"].decode() == METHODS[signal]:
                yield from call.messages
        return
    for each in peer.calls:
        if each.path == PATHS[signal] and each.is_complete:
            yield bytes(each.body)


def spans_in(requests: Sequence[Any]) -> list[Any]:
    """The spans of requests, one after the other."""
    return [
        span
        for request in requests
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def plain(value: Any) -> Any:
    """An AnyValue as Python has it."""
    kind = value.WhichOneof("value")
    return getattr(value, kind) if kind else None


def attributes_of(holder: Any) -> dict[str, Any]:
    """The attributes of a span, an event, a resource or the like; each key once."""
    keys = [each.key for each in holder.attributes]
    assert len(keys) == len(set(keys)), keys
    return {each.key: plain(each.value) for each in holder.attributes}
