"""Log records become bytes: put together from parts that most of them share.

Protobuf merges messages that stand one behind the other. So a record may be put together from parts, each with some of
its fields: the time; the text; and its place, which is everything else. A place is rendered from a template, with gaps
for what is new in each record: both ids, and the name of the task. JSON has no such rule, and its records are encoded
each as a whole, and so is what can have no template.

Plain records come in groups. What is done for each of a group is done by column, so that most of it runs in C.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..record.bounded_cache import BoundedCache
from ..record.logs.entry import LogEntry
from ..record.logs.layout import TASK, Kind, Layout, Tags
from ..record.logs.plain import LETTERS
from .encoder import Encoder
from .gaps import make_mark, put_gaps

_NO_TIME = 2**63
# Bytes that are text as well: ids and a name of ASCII can be put between them.
_BYTES = "latin-1"


class LogEncoder:
    """Encodes one agent's log records, in either codec. One caller at a time."""

    def __init__(self, encoder: Encoder, layout: Layout) -> None:
        from swagent_proto import wire  # noqa: PLC0415, RUF100
        from swagent_proto.text import clean  # noqa: PLC0415, RUF100

        self._wire: Any = wire
        self._clean = clean
        self._encoder = encoder
        self._layout = layout
        self._before_time = wire.log_data(1, "", "", "", None, None, None, "")[:-1]
        self._times = BoundedCache(self._encode_time)
        self._places = BoundedCache(self._make_place)
        self._before_text = BoundedCache(self._encode_before_text)

    def encode(self, entry: LogEntry) -> bytes:
        """A LogData of a record that is converted already."""
        time, text, tags, endpoint, *ids, span_id = entry
        ids = ids if entry.trace_id else ["", ""]
        task = tags[-1][1] if tags and tags[-1][0] == TASK else ""
        # a time that is none on the wire is refused there
        if self._encoder.is_binary and 0 < time < _NO_TIME and self._are_plain(text, task, *ids):
            common = tuple(tags[:-1] if task else tags)
            place = self._places[common, endpoint, span_id, len(ids[0]), len(ids[1]), len(task)]
            if place:
                written = text.encode()
                head = self._times[time] + place % (*ids, task)
                return head.encode(_BYTES) + self._before_text[len(written)] + written
        return self._encoder.log(entry)

    def encode_plain(self, plain: Sequence[Any]) -> bytes:
        """A LogData of one plain record, whatever it is like."""
        return self.encode(self._layout.entry(plain))

    def encode_alike(self, columns: Sequence[Sequence[Any]]) -> Sequence[bytes | None]:
        """LogData of plain records; None for each that is to be encoded by itself. Never raises.

        :param columns: the fields of `PlainRecord`, field by field
        """
        alone = [None] * len(columns[0])
        try:
            return self._render(columns) if self._encoder.is_binary else alone
        except Exception:  # noqa: BLE001, RUF100  (each is looked at by itself, and may raise)
            return alone

    def _render(self, columns: Sequence[Sequence[Any]]) -> Sequence[bytes | None]:
        times, kinds, messages, more, tasks, endpoints, trace_ids, segment_ids, span_ids = columns
        texts = self._layout.texts(times, kinds, messages, more)
        written = list(map(str.encode, texts))
        lengths = (map(len, column) for column in (trace_ids, segment_ids, tasks))
        parts = zip(
            map(self._times.__getitem__, times),
            map(self._places.__getitem__, zip(kinds, endpoints, span_ids, *lengths, strict=True)),
            zip(trace_ids, segment_ids, tasks, strict=True),
            strict=True,
        )
        heads = [(time + place % gaps).encode(_BYTES) for time, place, gaps in parts]
        before_texts = map(self._before_text.__getitem__, map(len, written))
        payloads = list(map(b"".join, zip(heads, before_texts, written, strict=True)))
        varying = "".join([*trace_ids, *segment_ids, *tasks])
        if varying.isascii() and _are_clean(b"".join([*written, varying.encode()])) and max(map(len, texts)) <= LETTERS:
            return payloads
        looked_at = zip(texts, tasks, trace_ids, segment_ids, payloads, strict=True)
        return [payload if len(each[0]) <= LETTERS and self._are_plain(*each) else None for *each, payload in looked_at]

    def _are_plain(self, text: str, *varying: str) -> bool:
        """Whether these say on the wire what they say here, and what varies fits into a template."""
        name = "".join(varying)
        return name.isascii() and self._clean(name) == name and self._clean(text) == text

    # -- what is kept -------------------------------------------------------------------------------------------------

    def _encode_time(self, milliseconds: int) -> str:
        written: bytes = self._before_time + self._encoder.times[milliseconds]
        return written.decode(_BYTES)

    def _encode_before_text(self, length: int) -> bytes:
        text = self._wire.text_log("~" * length)
        part = self._part(body=self._wire.log_data_body("text", text, None, None))
        return part[: len(part) - length]

    def _make_place(self, key: tuple[Kind | Tags, str, int, int, int, int]) -> str:
        """With gaps for both ids and the task's name; empty where they cannot be found."""
        kind, endpoint, span_id, trace_id_length, segment_id_length, task_length = key
        trace_id, segment_id = make_mark("~", trace_id_length), make_mark("^", segment_id_length)
        task = make_mark("`", task_length)
        tags = kind.tags if isinstance(kind, Kind) else kind
        part = self._part(
            service=self._encoder.service,
            service_instance=self._encoder.instance,
            endpoint=endpoint,
            trace_context=self._wire.trace_context(trace_id, segment_id, span_id) if trace_id else None,
            tags=self._wire.log_tags([*tags, (TASK, task)] if task else tags),
        )
        marks = (trace_id, segment_id if trace_id else "", task)
        try:
            return put_gaps(part, [(mark.encode(), b"") for mark in marks], b"%s").decode(_BYTES)
        except ValueError:
            return ""

    def _part(self, **fields: Any) -> bytes:
        """A LogData with some of its fields."""
        whole = {"timestamp": 0, "service": "", "service_instance": "", "endpoint": "", "body": None,
                 "trace_context": None, "tags": None, "layer": ""}  # fmt: skip
        part: bytes = self._wire.log_data(**(whole | fields))
        return part


def _are_clean(text: bytes) -> bool:
    """Whether it certainly says on the wire what it says here. Known of many texts at once, and sooner than of each."""
    return text.isascii() and text.translate(_WITHOUT_CONTROLS) == text


# The line ends and the tab are kept as they are.
_WITHOUT_CONTROLS = bytes(code if chr(code) in "\t\n\r" or chr(code).isprintable() else ord("?") for code in range(256))
