"""Encodes the `sw8` header of a request for its segment: the trace's id, and a reference to the caller's span."""

from __future__ import annotations

from typing import Any

from ..acceleration import native
from ..record.bounded_cache import BoundedCache
from ..record.trace.carrier import is_simple, parent_of, split_sw8
from ..record.trace.model import RefKind
from .encoder import Encoder
from .gaps import make_mark, put_gaps

ODD = b"?" * 100_000
"""Replaces a text that its codec writes in another form. It is longer than any text, so it fits no template."""


class CallerEncoder:
    """Encodes references, most of them from templates: the same callers call again and again. One caller at a time."""

    def __init__(self, encoder: Encoder) -> None:
        self._encode = encoder.reference
        # by the part of the header that a caller repeats, and the lengths of both ids
        self.templates: BoundedCache[tuple[bytes, int, int], Any] = BoundedCache(self._make_template)

    def encode(self, header: bytes | None) -> tuple[bytes, bytes]:
        """The trace's id and the reference, as they are written; both empty where there is no caller.

        :returns: ODD for the id of a request that fits no template: it is not recorded, or its ids have unusual letters
        """
        parts = split_sw8(header) if header is not None else None
        if parts is None:
            return b"", b""
        sampled, trace_id, segment_id, rest = parts
        if not (sampled and is_simple(trace_id + segment_id)):
            return ODD, b""
        template = self.templates[rest, len(trace_id), len(segment_id)]
        if not template:
            return ODD, b""
        if native is not None:
            return trace_id, template.fill(trace_id, segment_id)
        return trace_id, template % (trace_id, segment_id)

    def _make_template(self, key: tuple[bytes, int, int]) -> Any:
        """A format of the references from one span of a caller; empty where there can be none."""
        rest, trace_id_length, segment_id_length = key
        trace_id, segment_id = make_mark("~", trace_id_length), make_mark("^", segment_id_length)
        parent = parent_of(rest)
        assert parent is not None, "it is well-formed"  # noqa: S101
        written: Any = self._encode(RefKind.CROSS_PROCESS, trace_id, segment_id, *parent)
        encoded = written if isinstance(written, bytes) else str(written).encode()
        try:
            form = put_gaps(encoded, [(trace_id.encode(), b""), (segment_id.encode(), b"")])
            return form if native is None else native.Form(form)
        except ValueError:
            return b""
