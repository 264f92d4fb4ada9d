"""Finished requests become segments of one span: rendered from templates, one for each kind of request."""

from __future__ import annotations

from typing import Any

from ..record.bounded_cache import BoundedCache
from ..record.trace.ids import id_prefixes, ids_of
from ..record.trace.ignore import Suffixes
from ..record.trace.model import Reference, RefKind
from ..record.trace.request import PEERS, UNMATCHED, Facts, FinishedRequest, admit, describe, name_by_path
from ..record.trace.single_span import SingleSpanSegment, SpanTemplate
from ..record.trace.tracer import Tracer
from .encoder import Encoder, plain
from .segment_template import EARLIEST, LATEST, Lengths, SegmentTemplate


class RequestEncoder:
    """Encodes the requests of one agent, within its limits. One caller at a time."""

    def __init__(self, encoder: Encoder, tracer: Tracer) -> None:
        self._encoder = encoder
        self._endpoints = tracer.endpoints
        self._is_ignored = tracer.is_ignored
        # with it no two requests need be alike, and there are no templates
        self._real_path = tracer.real_path
        self._asks_always = not isinstance(tracer.is_ignored, Suffixes)
        self._times = encoder.times
        self._peers = BoundedCache(_peer)
        # by what the requests of one template have in common, and the length of the peer
        self._templates: dict[tuple[Any, ...], SegmentTemplate] = {}
        self._most = 1024

    def encode(self, finished: FinishedRequest, epoch: float) -> bytes | None:
        """A SegmentObject; None where the request is not recorded.

        :param epoch: added to the request's times it gives seconds since the epoch
        """
        number, start, end, client, carrier, method, scheme, host, path, template, component, status = finished
        if ("." in path or self._asks_always) and self._is_ignored(name_by_path(method, path)):
            return None
        begun, over = int((epoch + start) * 1000), int((epoch + end) * 1000)
        peer, plain_peer = self._peers[tuple(client)] if client else ("", b"")
        times, digits, reference = self._times, b"%012x" % number, b""
        if carrier is None:
            trace_id: bytes | None = digits
            key: tuple[Any, ...] = (template, status, method, host, scheme, component, len(plain_peer or b""))
        else:
            trace_id = plain(carrier.trace_id)
            reference = self._encoder.reference(Reference(RefKind.CROSS_PROCESS, *carrier[1:]))
            lengths = len(plain_peer or b""), len(trace_id or b""), len(reference)
            key = (template, status, method, host, scheme, component, *lengths)
        is_plain = template is not None and plain_peer is not None and trace_id is not None
        if is_plain and EARLIEST <= begun <= over <= LATEST:
            known = self._templates.get(key)
            if known is not None:
                written = reference if type(reference) is bytes else str(reference).encode()
                return known.render(trace_id or b"", digits, times[begun], times[over], plain_peer or b"", written)
        return self._encode_first(finished, key if is_plain else None, (begun, over), peer, reference)

    def _encode_first(
        self, finished: FinishedRequest, key: tuple[Any, ...] | None, times: tuple[int, int], peer: str, reference: Any
    ) -> bytes:
        """One that no template is known for, and maybe cannot be.

        :param key: to learn a template by, where there can be one
        """
        facts = Facts(*finished[5:])
        span = describe(facts, self._real_path)
        name = admit(span, facts, self._endpoints)
        if name != span.name:
            span = SpanTemplate(name, span.kind, span.layer, span.component, span.tags, failed=span.failed)
        elif key is not None and not self._real_path and facts.template is not UNMATCHED:
            self._learn(key, span)
        trace_id, segment_id = ids_of(finished[0])
        carrier = finished[4]
        if carrier is not None:
            trace_id = carrier.trace_id
        return self._encoder.encode_generic(SingleSpanSegment(span, trace_id, segment_id, *times, peer), reference)

    def _learn(self, key: tuple[Any, ...], span: SpanTemplate) -> None:
        lengths = Lengths(*key[6:])
        of_traces, of_segments = id_prefixes()
        # a caller's trace has an id of its own
        template = self._encoder.template(span, lengths, ("" if lengths.reference else of_traces, of_segments))
        if template is not None:
            if len(self._templates) >= self._most:
                self._templates.clear()
            self._templates[key] = template


def _peer(client: tuple[Any, ...]) -> tuple[str, bytes | None]:
    peer = PEERS[client]
    return peer, plain(peer)
