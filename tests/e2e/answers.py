"""The answers of OAP, as values: each class reads itself from one JSON object of GraphQL's answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from typing_extensions import Self

Json = Mapping[str, Any]


def pairs(listed: Iterable[Json] | None, key: str = "key") -> dict[str, str]:
    """`[{key, value}, ...]` as a dict; where a key comes twice the last one stays."""
    return {pair[key]: pair["value"] for pair in listed or ()}


@dataclass(frozen=True)
class Service:
    name: str
    layers: tuple[str, ...]

    @classmethod
    def read(cls, json: Json) -> Self:
        return cls(json["name"], tuple(json["layers"]))


@dataclass(frozen=True)
class Instance:
    name: str
    language: str
    attributes: Mapping[str, str]  # the reported properties, without `language`

    @classmethod
    def read(cls, json: Json) -> Self:
        return cls(json["name"], json["language"], pairs(json["attributes"], "name"))


@dataclass(frozen=True)
class TraceLine:
    """One line of the trace list: OAP keeps one for each segment."""

    segment_id: str
    endpoint: str
    duration: int
    is_error: bool
    trace_id: str

    @classmethod
    def read(cls, json: Json) -> Self:
        (endpoint,), (trace_id,) = json["endpointNames"], json["traceIds"]
        return cls(json["segmentId"], endpoint, json["duration"], json["isError"], trace_id)


@dataclass(frozen=True)
class Ref:
    trace_id: str
    segment_id: str
    span_id: int
    type: str

    @classmethod
    def read(cls, json: Json) -> Self:
        return cls(json["traceId"], json["parentSegmentId"], json["parentSpanId"], json["type"])


@dataclass(frozen=True)
class SpanLog:
    time: int
    data: Mapping[str, str]

    @classmethod
    def read(cls, json: Json) -> Self:
        return cls(json["time"], pairs(json["data"]))


@dataclass(frozen=True)
class Span:
    service: str
    instance: str
    segment_id: str
    span_id: int
    parent_span_id: int
    operation: str
    type: str
    layer: str
    component: str
    peer: str
    is_error: bool
    start_time: int
    end_time: int
    tags: Mapping[str, str]
    logs: tuple[SpanLog, ...]
    refs: tuple[Ref, ...]

    @classmethod
    def read(cls, json: Json) -> Self:
        return cls(
            service=json["serviceCode"],
            instance=json["serviceInstanceName"],
            segment_id=json["segmentId"],
            span_id=json["spanId"],
            parent_span_id=json["parentSpanId"],
            operation=json["endpointName"],
            type=json["type"],
            layer=json["layer"],
            component=json["component"],
            peer=json["peer"],
            is_error=json["isError"],
            start_time=json["startTime"],
            end_time=json["endTime"],
            tags=pairs(json["tags"]),
            logs=tuple(map(SpanLog.read, json["logs"])),
            refs=tuple(map(Ref.read, json["refs"])),
        )


@dataclass(frozen=True)
class LogLine:
    service: str
    instance: str
    endpoint: str | None
    trace_id: str | None
    timestamp: int
    content: str
    tags: Mapping[str, str]

    @classmethod
    def read(cls, json: Json) -> Self:
        names = (json["serviceName"], json["serviceInstanceName"], json["endpointName"], json["traceId"])
        return cls(*names, json["timestamp"], json["content"], pairs(json["tags"]))


@dataclass(frozen=True)
class Event:
    uuid: str
    name: str
    type: str
    message: str
    instance: str
    parameters: Mapping[str, str]

    @classmethod
    def read(cls, json: Json) -> Self:
        names = (json["uuid"], json["name"], json["type"], json["message"])
        return cls(*names, json["source"]["serviceInstance"], pairs(json["parameters"]))
