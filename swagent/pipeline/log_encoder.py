"""Log records become bytes: put together from parts that most of them share, see `log_parts`.

Plain records come in groups. What is done for each of a group is done by column, so that most of it runs in C. What is
like no record before it, or cannot be like any, is encoded by itself. JSON has no parts, and its records are encoded
each as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..record.bounded_cache import BoundedCache
from ..record.logs.entry import LogEntry
from ..record.logs.layout import Layout
from ..record.logs.plain import LETTERS
from .encoder import Encoder
from .log_parts import LogParts


class LogEncoder:
    """Encodes one agent's log records, in either codec. One caller at a time."""

    def __init__(self, encoder: Encoder, layout: Layout) -> None:
        self._layout = layout
        self._parts = LogParts(encoder) if encoder.is_binary else None
        self.encode: Callable[[LogEntry], bytes] = encoder.log if self._parts is None else self._parts.encode
        """A LogData of a converted record."""
        self._kinds = BoundedCache(self._find_kind)

    def encode_plain(self, plain: Sequence[Any]) -> bytes:
        """A LogData of one plain record, whatever it is like."""
        return self.encode(self._layout.entry(plain))

    def encode_alike(self, columns: Sequence[Sequence[Any]]) -> Sequence[bytes | None]:
        """LogData of plain records; None for each that is to be encoded by itself. Never raises.

        :param columns: the fields of `PlainRecord`, field by field
        """
        count = len(columns[0])
        if self._parts is None:
            return [None] * count
        try:
            return self._render(self._parts, columns)
        except Exception:  # noqa: BLE001, RUF100  (each is looked at by itself, and may raise)
            return [None] * count

    def _render(self, parts: LogParts, columns: Sequence[Sequence[Any]]) -> Sequence[bytes | None]:
        created, _, levels, loggers, threads, _, _, names, endpoints, trace_ids, segment_ids, span_ids = columns
        tasks = list(map(str.encode, names))
        kinds = zip(levels, loggers, threads, map(len, tasks), strict=True)
        forms, tags = zip(*map(self._kinds.__getitem__, kinds), strict=True)
        texts = self._layout.texts(forms, columns)
        written = list(map(str.encode, texts))
        ids = list(map(str.encode, trace_ids)), list(map(str.encode, segment_ids))
        traces = map(parts.traces.__getitem__, zip(map(len, ids[0]), map(len, ids[1]), span_ids, strict=True))
        rendered = zip(
            [parts.times[int(at * 1000)] for at in created],
            map(parts.places.__getitem__, endpoints),
            [template % each for template, each in zip(traces, zip(*ids, strict=True), strict=True)],
            map(parts.before_text.__getitem__, map(len, written)),
            written,
            tags,
            tasks,
            strict=True,
        )
        payloads = list(map(b"".join, rendered))
        if _are_clean((*written, *tasks, *ids[0], *ids[1])) and max(map(len, texts)) <= LETTERS:
            return payloads
        seen = zip(payloads, texts, names, trace_ids, segment_ids, strict=True)
        return [each if len(text) <= LETTERS and parts.is_clean("".join((text, *more))) else None
                for each, text, *more in seen]  # fmt: skip

    def _find_kind(self, key: tuple[str, str, str, int]) -> tuple[str, bytes]:
        """The layout, and the tags but for the task's name, by level, logger, thread and the length of that name."""
        assert self._parts is not None, "only protobuf has parts"  # noqa: S101
        form, tags = self._layout.kinds[key[:3]]
        return form, self._parts.before_task[tuple(tags), key[3]]


def _are_clean(texts: Sequence[bytes]) -> bool:
    """Whether they certainly say on the wire what they say here. Known of all sooner than of each."""
    text = b"".join(texts)
    return text.isascii() and len(text.translate(None, _CONTROLS)) == len(text)


# The line ends and the tab are kept as they are.
_CONTROLS = bytes(code for code in (*range(32), 127) if chr(code) not in "\t\n\r")
