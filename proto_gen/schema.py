"""The facts about the messages that the generator needs, read from protoc's descriptors."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from google.protobuf import descriptor_pb2  # type: ignore[import-untyped, unused-ignore]

HOT = (
    *("SegmentObject", "SegmentReference", "SpanObject", "Log", "SegmentCollection", "KeyStringValuePair"),
    *("LogData", "LogDataBody", "TextLog", "JSONLog", "YAMLLog", "TraceContext", "LogTags"),
    *("Label", "MeterBucketValue", "MeterSingleValue", "MeterHistogram", "MeterData", "MeterDataCollection"),
    *("InstanceProperties", "InstancePingPkg", "ThreadSnapshot", "ThreadStack", "Event", "Source"),
    *("ProfileTaskCommandQuery", "ProfileTaskFinishReport", "ConfigurationSyncRequest"),
)
"""The messages that get an encoder: all that an agent sends."""

OTLP = (
    *("Resource", "InstrumentationScope"),
    *("ResourceSpans", "ScopeSpans", "Span", "Span.Event", "Span.Link", "Status"),
    *("ResourceLogs", "ScopeLogs", "LogRecord"),
    *("ResourceMetrics", "ScopeMetrics", "Metric", "Gauge", "Sum", "Histogram"),
    *("NumberDataPoint", "HistogramDataPoint"),
)
"""The messages of OTLP that get an encoder. Attributes and their values are in `otlp_values`, written by hand."""

UNIQUE = re.compile(r"trace_id|\w*trace_segment_id|uuid|text|json|yaml|message")
"""The string fields that hardly ever repeat, and so are kept out of the caches."""


class Kind(enum.Enum):
    TEXT = enum.auto()
    UNIQUE_TEXT = enum.auto()
    PAIR = enum.auto()
    MAP = enum.auto()
    MESSAGE = enum.auto()
    INT32 = enum.auto()
    INT64 = enum.auto()
    ENUM = enum.auto()
    BOOL = enum.auto()
    DOUBLE = enum.auto()
    FIXED64 = enum.auto()
    FIXED32 = enum.auto()
    BYTES = enum.auto()


SCALARS = {
    1: Kind.DOUBLE,
    3: Kind.INT64,
    5: Kind.INT32,
    6: Kind.FIXED64,
    7: Kind.FIXED32,
    8: Kind.BOOL,
    9: Kind.TEXT,
    11: Kind.MESSAGE,
    12: Kind.BYTES,
    13: Kind.INT32,  # unsigned: only counts, which are small
    14: Kind.ENUM,
    16: Kind.FIXED64,
}
"""By the type numbers of descriptor.proto."""

GROUPED = frozenset({Kind.INT32, Kind.ENUM, Kind.BOOL})
"""Few values each: neighbours share a cache. Times are too many for that."""


@dataclass(frozen=True)
class Field:
    number: int
    name: str
    json_name: str
    kind: Kind
    repeated: bool
    enum_names: dict[int, str] = field(default_factory=dict)
    rivals: tuple[str, ...] = ()
    """The members of its oneof that come before it, and win."""
    is_optional: bool = False
    """Whether a default that is set differs from no value."""


@dataclass(frozen=True)
class Message:
    name: str
    fields: tuple[Field, ...]

    @property
    def function(self) -> str:
        return snake_case(self.name)

    def runs(self) -> Iterator[list[Field]]:
        """The fields in order of their numbers; neighbours of few values come as one run."""
        for is_grouped, run in groupby(self.fields, lambda one: one.kind in GROUPED and not one.repeated):
            if is_grouped:
                yield list(run)
            else:
                yield from ([one] for one in run)


def snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


class Schema:
    def __init__(self, descriptor_set: bytes) -> None:
        files = descriptor_pb2.FileDescriptorSet.FromString(descriptor_set).file
        self._messages = {message.name: message for file in files for message in file.message_type}
        nested = [(f"{outer.name}.{one.name}", one) for outer in self._messages.values() for one in outer.nested_type]
        self._messages.update(nested)
        enums = [one for file in files for one in file.enum_type]
        enums += [one for message in self._messages.values() for one in message.enum_type]
        self._enums = {one.name: {v.number: v.name for v in one.value} for one in enums}

    def messages(self, names: Sequence[str]) -> Sequence[Message]:
        return [self._read(name.replace(".", ""), self._messages[name]) for name in names]

    def _read(self, name_of_message: str, message: Any) -> Message:
        fields: list[Field] = []
        for one in sorted(message.field, key=lambda one: int(one.number)):
            members = [other for other in message.field if other.HasField("oneof_index")]
            members = [other for other in members if one.HasField("oneof_index") and other.number < one.number]
            rivals = tuple(snake_case(other.name) for other in members if other.oneof_index == one.oneof_index)
            name, kind = snake_case(one.name), self._kind(message, one)
            names = self._enums[one.type_name.rpartition(".")[2]] if kind is Kind.ENUM else {}
            is_optional = one.HasField("oneof_index")
            fields.append(Field(one.number, name, one.json_name, kind, one.label == 3, names, rivals, is_optional))
        return Message(name_of_message, tuple(fields))

    def _kind(self, message: Any, one: Any) -> Kind:
        type_name = one.type_name.rpartition(".")[2]
        if any(entry.name == type_name and entry.options.map_entry for entry in message.nested_type):
            return Kind.MAP
        kind = SCALARS[one.type]
        if kind is Kind.TEXT and UNIQUE.fullmatch(snake_case(one.name)):
            return Kind.UNIQUE_TEXT
        return Kind.PAIR if type_name == "KeyStringValuePair" else kind
