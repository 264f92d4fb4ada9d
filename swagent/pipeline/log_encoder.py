"""Log records become bytes: put together from parts that most of them share.

Protobuf merges messages that stand one behind the other. So a record may be put together from parts, each with some of
its fields: time, place, text, trace and tags. Most parts are known from a record before, or rendered from a template
with gaps for what is new in each record: the ids, and the name of the task. JSON has no such rule, and its records are
encoded as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..record.bounded_cache import BoundedCache
from ..record.logs.entry import LogEntry
from ..record.trace.carrier import is_simple
from .encoder import Encoder
from .gaps import escape, make_mark, put_gaps

Tags = tuple[tuple[str, str], ...]
_TASK = "task"
_NO_TIME = 2**63


def log_encoding(encoder: Encoder) -> Callable[[LogEntry], bytes]:
    """What turns log records into bytes in the encoder's codec."""
    return LogEncoder(encoder).encode if encoder.is_binary else encoder.log


class LogEncoder:
    """Encodes one agent's log records in protobuf. Any thread."""

    def __init__(self, encoder: Encoder) -> None:
        from swagent_proto import wire  # noqa: PLC0415, RUF100

        self._wire: Any = wire
        self._encoder = encoder
        self._times = encoder.times
        self._before_time = wire.log_data(1, "", "", "", None, None, None, "")[:-1]
        self._places = BoundedCache(self._encode_place)
        self._before_text = BoundedCache(self._encode_before_text)
        self._traces = BoundedCache(self._make_trace)
        self._tags = BoundedCache(self._make_tags)

    def encode(self, entry: LogEntry) -> bytes:
        """A LogData."""
        time, text, tags, endpoint, trace_id, segment_id, span_id = entry
        task = tags[-1][1] if tags and tags[-1][0] == _TASK else ""
        # a time that is none on the wire is refused there
        if not 0 < time < _NO_TIME or not (text.isprintable() and task.isprintable()):
            return self._encoder.log(entry)
        written, name, trace = text.encode(), task.encode(), b""
        rest = self._tags[tuple(tags[:-1] if task else tags), len(name)]
        if trace_id:
            ids = trace_id.encode(), segment_id.encode()
            template = self._traces[len(trace_id), len(segment_id), span_id]
            if template is None or not (is_simple(ids[0]) and is_simple(ids[1])):
                return self._encoder.log(entry)
            trace = template % ids
        place, before = self._places[endpoint], self._before_text[len(written)]
        return b"".join((self._before_time, self._times[time], place, before, written, trace, rest % name))

    def _encode_place(self, endpoint: str) -> bytes:
        encoder = self._encoder
        return self._part(service=encoder.service, service_instance=encoder.instance, endpoint=endpoint)

    def _encode_before_text(self, length: int) -> bytes:
        text = self._wire.text_log("~" * length)
        part = self._part(body=self._wire.log_data_body("text", text, None, None))
        return part[: len(part) - length]

    def _make_trace(self, key: tuple[int, int, int]) -> bytes | None:
        """With gaps for both ids; None where they cannot be found."""
        trace_id_length, segment_id_length, span_id = key
        trace_id, segment_id = make_mark("~", trace_id_length), make_mark("^", segment_id_length)
        part = self._part(trace_context=self._wire.trace_context(trace_id, segment_id, span_id))
        try:
            return put_gaps(part, [(trace_id.encode(), b""), (segment_id.encode(), b"")])
        except ValueError:
            return None

    def _make_tags(self, key: tuple[Tags, int]) -> bytes:
        """With a gap at the end for the task's name, which is empty where there is none."""
        common, length = key
        tags = [*common, (_TASK, "~" * length)] if length else common
        part = self._part(tags=self._wire.log_tags(tags))
        return escape(part[: len(part) - length]) + b"%b"

    def _part(self, **fields: Any) -> bytes:
        """A LogData with some of its fields."""
        whole = {"timestamp": 0, "service": "", "service_instance": "", "endpoint": "", "body": None,
                 "trace_context": None, "tags": None, "layer": ""}  # fmt: skip
        part: bytes = self._wire.log_data(**(whole | fields))
        return part
