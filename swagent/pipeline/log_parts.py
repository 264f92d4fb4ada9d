"""The parts that log records are put together from in protobuf.

Protobuf merges messages that stand one behind the other. So a record may be put together from parts, each with some of
its fields: time, place, text, trace and tags. Most parts are known from a record before, or rendered from a template
with gaps for what is new in each record: the ids, and the name of the task.
"""

from __future__ import annotations

from typing import Any

from ..record.bounded_cache import BoundedCache
from ..record.logs.entry import LogEntry
from ..record.logs.layout import TASK
from ..record.trace.carrier import is_simple
from .encoder import Encoder
from .gaps import make_mark, put_gaps

Tags = tuple[tuple[str, str], ...]
_NO_TIME = 2**63


class LogParts:
    """The parts of one agent's log records. Any thread."""

    def __init__(self, encoder: Encoder) -> None:
        from swagent_proto import wire  # noqa: PLC0415, RUF100
        from swagent_proto.text import clean  # noqa: PLC0415, RUF100

        self._wire: Any = wire
        self._clean = clean
        self._encoder = encoder
        self._before_time = wire.log_data(1, "", "", "", None, None, None, "")[:-1]
        self.times = BoundedCache(self._encode_time)
        """By milliseconds."""
        self.places = BoundedCache(self._encode_place)
        """By endpoint."""
        self.before_text = BoundedCache(self._encode_before_text)
        """What stands before a text, by its length in bytes."""
        self.traces = BoundedCache(self._make_trace)
        """By the lengths of the ids of trace and segment, and by the span's id: with gaps for both ids. Empty
        where they cannot be found."""
        self.before_task = BoundedCache(self._encode_before_task)
        """The tags by what they are, and by the length of the task's name, which is to follow."""

    def encode(self, entry: LogEntry) -> bytes:
        """A LogData."""
        time, text, tags, endpoint, trace_id, segment_id, span_id = entry
        task = tags[-1][1] if tags and tags[-1][0] == TASK else ""
        # a time that is none on the wire is refused there
        if not 0 < time < _NO_TIME or not (text.isprintable() and task.isprintable()):
            return self._encoder.log(entry)
        written, name, trace = text.encode(), task.encode(), b""
        rest = self.before_task[tuple(tags[:-1] if task else tags), len(name)]
        if trace_id:
            ids = trace_id.encode(), segment_id.encode()
            template = self.traces[len(trace_id), len(segment_id), span_id]
            if not template or not (is_simple(ids[0]) and is_simple(ids[1])):
                return self._encoder.log(entry)
            trace = template % ids
        place, before = self.places[endpoint], self.before_text[len(written)]
        return b"".join((self.times[time], place, trace, before, written, rest, name))

    def is_clean(self, text: str) -> bool:
        """Whether it says on the wire what it says here."""
        return self._clean(text) == text

    def _encode_time(self, milliseconds: int) -> bytes:
        written: bytes = self._before_time + self._encoder.times[milliseconds]
        return written

    def _encode_place(self, endpoint: str) -> bytes:
        encoder = self._encoder
        return self._part(service=encoder.service, service_instance=encoder.instance, endpoint=endpoint)

    def _encode_before_text(self, length: int) -> bytes:
        text = self._wire.text_log("~" * length)
        part = self._part(body=self._wire.log_data_body("text", text, None, None))
        return part[: len(part) - length]

    def _make_trace(self, key: tuple[int, int, int]) -> bytes:
        trace_id_length, segment_id_length, span_id = key
        if not trace_id_length:
            return b"%b%b"
        trace_id, segment_id = make_mark("~", trace_id_length), make_mark("^", segment_id_length)
        part = self._part(trace_context=self._wire.trace_context(trace_id, segment_id, span_id))
        try:
            return put_gaps(part, [(trace_id.encode(), b""), (segment_id.encode(), b"")])
        except ValueError:
            return b""

    def _encode_before_task(self, key: tuple[Tags, int]) -> bytes:
        common, length = key
        tags = [*common, (TASK, "~" * length)] if length else common
        part = self._part(tags=self._wire.log_tags(tags))
        return part[: len(part) - length]

    def _part(self, **fields: Any) -> bytes:
        """A LogData with some of its fields."""
        whole = {"timestamp": 0, "service": "", "service_instance": "", "endpoint": "", "body": None,
                 "trace_context": None, "tags": None, "layer": ""}  # fmt: skip
        part: bytes = self._wire.log_data(**(whole | fields))
        return part
