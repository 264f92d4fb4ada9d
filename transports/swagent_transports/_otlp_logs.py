"""From SkyWalking's log records to those of OTLP. Pure."""

from __future__ import annotations

from swagent.w3c_ids import span_id_of, trace_id_of
from swagent_proto import otlp_wire
from swagent_proto.otlp_values import attribute, text_value

from ._otlp_reading import integer, nested, pairs, read, text
from ._otlp_resource import Origin

_NANOSECONDS = 1_000_000
_SAMPLED = 1
_CONTENTS = (2, 3, 4)
"""The fields of a body: text, JSON, YAML; each holds its text in field 1."""
_NAMES = {"thread": "thread.name", "logger": "logger.name", "exception": "exception.stacktrace"}
_SEVERITIES = {
    "TRACE": 1,
    "DEBUG": 5,
    "INFO": 9,
    "SUCCESS": 10,
    "NOTICE": 10,
    "WARNING": 13,
    "WARN": 13,
    "ERROR": 17,
    "CRITICAL": 21,
    "FATAL": 21,
}


def logs_of(record: bytes) -> tuple[Origin, list[bytes]]:
    """The log record of an encoded LogData, and where it comes from.

    :raises ValueError: when it is none
    """
    message = read(record)
    body, place, tags = nested(message, 5), nested(message, 6), dict(pairs(nested(message, 7).get(1, ())))
    level = tags.pop("level", "")
    if endpoint := text(message, 4):
        tags.setdefault("skywalking.endpoint", endpoint)
    content = next((text(nested(body, number), 1) for number in _CONTENTS if number in body), "")
    trace_id, segment_id = text(place, 1), text(place, 2)
    at = integer(message, 1) * _NANOSECONDS
    encoded = otlp_wire.log_record(
        at,
        _SEVERITIES.get(level.upper(), 0),
        level,
        text_value(content),
        [attribute(_NAMES.get(key, key), value) for key, value in tags.items()],
        0,
        _SAMPLED if trace_id else 0,
        trace_id_of(trace_id) if trace_id else b"",
        span_id_of(segment_id, integer(place, 3)) if segment_id else b"",
        at,
        "",
    )
    return (text(message, 2), text(message, 3)), [encoded]
