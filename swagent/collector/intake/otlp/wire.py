"""The messages of OTLP, one item after the other, from protobuf or JSON.

A request holds many items of a few resources. Each is read by itself, so that other tasks and threads run in between.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingModuleSource=false

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple, cast

from google.protobuf import json_format, message_factory
from google.protobuf.message import DecodeError

from swagent_proto.otlp_descriptors import FILES

from ...store.protocol import pool_of
from ...store.wire_check import LENGTH
from ...store.wire_pieces import PIECE, Field, check_parts, fields

_PACKAGE = "opentelemetry.proto."
_DEPTH = 40
_IDS = frozenset({"traceId", "spanId", "parentSpanId", "trace_id", "span_id", "parent_span_id"})


class Kind(NamedTuple):
    """One signal's request.

    :ivar item: the message of an item
    :ivar names: in JSON, of the lists of resources, scopes and items
    :ivar service: over gRPC
    """

    item: str
    names: tuple[str, str, str]
    service: str


KINDS: Mapping[str, Kind] = {
    "traces": Kind("trace.v1.Span", ("resourceSpans", "scopeSpans", "spans"), "trace.v1.TraceService"),
    "logs": Kind("logs.v1.LogRecord", ("resourceLogs", "scopeLogs", "logRecords"), "logs.v1.LogsService"),
    "metrics": Kind("metrics.v1.Metric", ("resourceMetrics", "scopeMetrics", "metrics"), "metrics.v1.MetricsService"),
}
_RESOURCE, _SCOPE = "resource.v1.Resource", "common.v1.InstrumentationScope"

Item = tuple[Any, Any, Any]
"""A resource, a scope, and a span, log record or metric; each a message."""


# apart from others: the application of a test may have OpenTelemetry's package in the same process
_POOL = pool_of(FILES)


@cache
def message_class(name: str) -> Any:
    """The class of a message, by its name without the common part of the packages."""
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(_PACKAGE + name))


def _parse(name: str, data: bytes) -> Any:
    kind = message_class(name)
    if len(data) > PIECE:
        check_parts(data, kind.DESCRIPTOR)
    try:
        return kind.FromString(data)
    except DecodeError as error:
        raise ValueError(f"malformed {name}: {error}") from error


def from_protobuf(signal: str, data: bytes) -> Iterator[Item]:
    """The items of a request.

    :raises ValueError: when it is malformed; the items before that are given
    """
    name = KINDS[signal].item
    for of_resource in _messages(data, 0, len(data), 1):
        resource = _merged(data, of_resource, _RESOURCE)
        for of_scope in _messages(data, of_resource.start, of_resource.end, 2):
            scope = _merged(data, of_scope, _SCOPE)
            for each in _messages(data, of_scope.start, of_scope.end, 2):
                yield resource, scope, _parse(name, data[each.start : each.end])


def _messages(data: bytes, start: int, end: int, number: int) -> Iterator[Field]:
    for field in fields(data, start, end):
        if field.number == number:
            if field.wire_type != LENGTH:
                raise ValueError(f"field {number} has wire type {field.wire_type}")
            yield field


def _merged(data: bytes, outer: Field, name: str) -> Any:
    """The message in field 1 of another one, with all of its parts."""
    return _parse(name, b"".join(data[each.start : each.end] for each in _messages(data, outer.start, outer.end, 1)))


def from_json(signal: str, value: Any) -> Iterator[Item]:
    """The items of a request that was read from JSON.

    :raises ValueError: when it is malformed; the items before that are given
    """
    kind = KINDS[signal]
    resources, scopes, items = kind.names
    for of_resource in _list(value, resources):
        resource = _of_json(_RESOURCE, of_resource.get("resource"))
        for of_scope in _list(of_resource, scopes):
            scope = _of_json(_SCOPE, of_scope.get("scope"))
            for each in _list(of_scope, items):
                yield resource, scope, _of_json(kind.item, each)


def _list(holder: Any, name: str) -> list[dict[str, Any]]:
    if not isinstance(holder, dict):
        raise ValueError(f"a JSON object is needed, not {type(holder).__name__}")
    found = holder.get(name)
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise ValueError(f"{name} is no list of objects")
    return cast("list[dict[str, Any]]", found)


def _of_json(name: str, value: Any) -> Any:
    message = message_class(name)()
    if value is None:
        return message
    try:
        return json_format.ParseDict(_with_ids(value), message, ignore_unknown_fields=True, max_recursion_depth=_DEPTH)
    except (json_format.ParseError, ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"malformed {name}: {error}") from error


def _with_ids(value: Any) -> Any:
    """OTLP writes ids in hexadecimal digits, where protobuf's JSON has base64. They are in an item itself and in its
    links."""
    if not isinstance(value, dict):
        raise ValueError(f"a JSON object is needed, not {type(value).__name__}")
    found = {key: _id(each) if key in _IDS else each for key, each in value.items()}
    links = found.get("links")
    if isinstance(links, list):
        found["links"] = [_with_ids(each) for each in links]
    return found


def _id(value: Any) -> Any:
    if not isinstance(value, str):
        raise ValueError("an id is no text")
    try:
        return base64.b64encode(binascii.unhexlify(value)).decode()
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"an id is not hexadecimal: {error}") from error


def to_json(message: Any) -> Any:
    """A reply as JSON has it."""
    return json_format.MessageToDict(message)
