"""Log records become bytes: put together from parts that most of them share.

Protobuf merges messages that follow one another. So a record may be put together from parts, each with some of
its fields: the time, the place, the text, and everything else, which is known from records before it except for both
ids and the name of the task. All is rendered from one format with gaps. JSON has no such rule, so its records are
encoded each as a whole. So is a record that no format fits.

Plain records come in groups. The work for each of a group is done by column, so that most of it runs in C.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import acceleration
from ..record.bounded_cache import BoundedCache
from ..record.logs.conversion import unreadable
from ..record.logs.entry import LogEntry
from ..record.logs.layout import SECONDS, TASK, Kind, Layout, Tags
from ..record.logs.origin import NOWHERE, as_origin
from ..record.logs.plain import LETTERS, TASK_LETTERS
from .encoder import Encoder
from .gaps import escape, make_mark, split_at

_NO_TIME = 2**63


class LogEncoder:
    """Encodes one agent's log records, in either codec. One caller at a time."""

    def __init__(self, encoder: Encoder, layout: Layout) -> None:
        from swagent_proto import wire  # noqa: PLC0415, RUF100
        from swagent_proto.text import clean  # noqa: PLC0415, RUF100

        self._wire: Any = wire
        self._clean = clean
        self._encoder = encoder
        self._layout = layout
        self._times = encoder.times
        before_time: bytes = wire.log_data(1, "", "", "", None, None, None, "")[:-1]
        self._before_time = before_time
        self._places = BoundedCache(self._encode_place)
        self._forms = BoundedCache(self._make_form)
        self._before_text = BoundedCache(self._encode_before_text)
        self._native = self._make_native()

    def encode(self, entry: LogEntry) -> bytes:
        """A LogData of a record that is converted already."""
        time, text, tags, endpoint, trace_id, segment_id, span_id = entry
        task = tags[-1][1] if tags and tags[-1][0] == TASK else ""
        is_time = 0 < time < _NO_TIME  # a time that is none on the wire is refused there
        if self._encoder.is_binary and is_time and self._is_clean(f"{text}{task}{trace_id}{segment_id}"):
            written = text.encode()
            ids = (trace_id.encode(), segment_id.encode()) if trace_id else (b"", b"")
            name, common = task.encode(), tuple(tags[:-1] if task else tags)
            form = self._forms[common, span_id, len(ids[0]), len(ids[1]), len(name)]
            if form:
                before_text = self._before_text[len(written)]
                return form % (self._times[time], self._places[endpoint], *ids, name, before_text, written)
        return self._encoder.log(entry)

    def encode_plain(self, plain: Sequence[Any]) -> bytes:
        """A LogData of one plain record, whatever it is like."""
        try:
            entry = self._layout.entry(plain)
        except Exception as error:  # noqa: BLE001, RUF100  (a time that is none; that there was a record is reported)
            entry = unreadable(error)
        return self.encode(entry)

    def encode_alike(self, columns: Sequence[Sequence[Any]]) -> Sequence[bytes | None]:
        """LogData of plain records; None for each that is to be encoded by itself. Never raises.

        :param columns: the fields of `PlainRecord`, field by field
        """
        alone = [None] * len(columns[0])
        if not self._encoder.is_binary:
            return alone
        try:
            return self._render(columns) if self._native is None else self._native.encode_alike(*columns)
        except Exception:  # noqa: BLE001, RUF100  (each is looked at by itself, and may raise)
            return alone

    def _render(self, columns: Sequence[Sequence[Any]]) -> Sequence[bytes | None]:
        levels, loggers, threads, seconds, milliseconds, messages, more, tasks, noted = columns
        kinds = list(map(self._layout.kinds.__getitem__, zip(levels, loggers, threads, strict=True)))
        texts = self._layout.texts(seconds, milliseconds, kinds, messages, more)
        endpoints, trace_ids, segment_ids, span_ids = zip(*map(as_origin, noted), strict=True)
        times = [int(each * 1000) for each in seconds]
        if min(times) <= 0 or max(times) >= _NO_TIME or max(map(len, tasks)) > TASK_LETTERS:
            return [None] * len(times)
        as_text = trace_ids, segment_ids, tasks, texts
        ids, segments, names, written = (list(map(str.encode, column)) for column in as_text)
        lengths = (map(len, column) for column in (ids, segments, names))
        forms = map(self._forms.__getitem__, zip(kinds, span_ids, *lengths, strict=True))
        kept = map(self._times.__getitem__, times), map(self._places.__getitem__, endpoints)
        before_texts = map(self._before_text.__getitem__, map(len, written))
        gaps = zip(*kept, ids, segments, names, before_texts, written, strict=True)
        payloads = [form % each for form, each in zip(forms, gaps, strict=True)]
        if _are_clean(b"".join([*ids, *segments, *names, *written])) and max(map(len, texts)) <= LETTERS:
            return payloads
        return [
            payload if len(each[-1]) <= LETTERS and self._is_clean("".join(each)) else None
            for payload, each in zip(payloads, zip(*as_text, strict=True), strict=True)
        ]

    def _is_clean(self, text: str) -> bool:
        """Whether the text is the same on the wire."""
        return self._clean(text) == text

    # -- what is kept -------------------------------------------------------------------------------------------------

    def _encode_before_text(self, length: int) -> bytes:
        text = self._wire.text_log("~" * length)
        part = self._part(body=self._wire.log_data_body("text", text, None, None))
        return part[: len(part) - length]

    def _encode_place(self, endpoint: str) -> bytes:
        encoder = self._encoder
        return self._part(service=encoder.service, service_instance=encoder.instance, endpoint=endpoint)

    def _make_form(self, key: tuple[Kind | Tags, int, int, int, int]) -> bytes:
        """A record with gaps for its time, its place, both ids, the task's name, what is before the text, and the
        text; empty where these cannot be found. The place has a gap, because there may be many pairs of endpoint and
        logger, each of which would need a form."""
        kind, *lengths = key
        try:
            pieces = self._cut(kind.tags if isinstance(kind, Kind) else kind, *lengths)
        except ValueError:
            return b""
        return b"%b".join(map(escape, (self._before_time, b"", *pieces, b"", b"")))

    def _cut(self, tags: Tags, span_id: int, trace_id_length: int, segment_id_length: int, task_length: int) -> Any:
        """The pieces around both ids and the task's name.

        :raises ValueError: these cannot be found
        """
        trace_id, segment_id = make_mark("~", trace_id_length), make_mark("^", segment_id_length)
        task = make_mark("`", task_length)
        part = self._part(
            trace_context=self._wire.trace_context(trace_id, segment_id, span_id) if trace_id else None,
            tags=self._wire.log_tags([*tags, (TASK, task)] if task else tags),
        )
        marks = (trace_id, segment_id if trace_id else "", task)
        return split_at(part, [(mark.encode(), b"") for mark in marks])

    # -- for the accelerator ------------------------------------------------------------------------------------------

    def _make_native(self) -> Any:
        native, layout = acceleration.native, self._layout
        if native is None or not self._encoder.is_binary:
            return None
        codes = {"message": -1, "asctime": -2} | {field: at for at, field in enumerate(layout.more)}
        order = tuple(codes[field] for field in layout.order)
        caches = BoundedCache(self._make_shape), self._places, self._before_text, SECONDS
        return native.LogRenderer(*caches, self._clean, NOWHERE, order, TASK_LETTERS)

    def _make_shape(self, key: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The text's pieces, and those of the record around the gaps; None where there is none."""
        level, logger, thread, *lengths = key
        kind = self._layout.kinds[level, logger, thread]
        if not self._is_clean("".join(kind.pieces)):
            return None
        try:
            return (tuple(map(str.encode, kind.pieces)), self._before_time, *self._cut(kind.tags, *lengths))
        except ValueError:
            return None

    def _part(self, **fields: Any) -> bytes:
        """A LogData with some of its fields."""
        whole = {"timestamp": 0, "service": "", "service_instance": "", "endpoint": "", "body": None,
                 "trace_context": None, "tags": None, "layer": ""}  # fmt: skip
        part: bytes = self._wire.log_data(**(whole | fields))
        return part


def _are_clean(text: bytes) -> bool:
    """Whether a text is certainly the same on the wire. One check of many joined texts is quicker than one of each."""
    return text.isascii() and text.translate(_WITHOUT_CONTROLS) == text


# The line ends and the tab are kept as they are.
_WITHOUT_CONTROLS = bytes(code if chr(code) in "\t\n\r" or chr(code).isprintable() else ord("?") for code in range(256))
