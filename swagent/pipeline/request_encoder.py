"""Finished requests become segments of one span: rendered from templates, one for each kind of request."""

from __future__ import annotations

from typing import Any

from ..record.bounded_cache import BoundedCache
from ..record.trace.ids import id_prefixes, ids_of
from ..record.trace.model import Reference, RefKind
from ..record.trace.request import PEERS, UNMATCHED, Facts, FinishedRequest, admit, describe, name_by_path
from ..record.trace.single_span import SingleSpanSegment, SpanTemplate
from ..record.trace.tracer import Tracer
from .encoder import Encoder, plain
from .segment_template import EARLIEST, LATEST, SegmentTemplate


class RequestEncoder:
    """Encodes the requests of one agent, within its limits. One caller at a time."""

    def __init__(self, encoder: Encoder, tracer: Tracer) -> None:
        self._encoder = encoder
        self._endpoints = tracer.endpoints
        self._is_ignored = tracer.is_ignored
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
        if self._is_ignored(name_by_path(method, path)):
            return None
        begun, over = int((epoch + start) * 1000), int((epoch + end) * 1000)
        peer, written = self._peers[tuple(client)] if client else ("", b"")
        if template is not None and carrier is None and written is not None and EARLIEST <= begun <= over <= LATEST:
            key = (template, status, method, host, scheme, component, len(written))
            known = self._templates.get(key)
            if known is not None:
                times = self._times
                digits = b"%012x" % number
                return known.render(digits, digits, times[begun], times[over], written)
        facts = Facts(method, scheme, host, path, template, component, status)
        span = describe(facts)
        name = admit(span, facts, self._endpoints)
        if name != span.name:
            span = SpanTemplate(name, span.kind, span.layer, span.component, span.tags, failed=span.failed)
        elif written is not None and template is not None and template is not UNMATCHED:
            self._learn((template, status, method, host, scheme, component, len(written)), span, len(written))
        trace_id, segment_id = ids_of(number)
        reference = None
        if carrier is not None:
            trace_id, reference = carrier.trace_id, Reference(RefKind.CROSS_PROCESS, *carrier[1:])
        return self._encoder.encode_generic(SingleSpanSegment(span, trace_id, segment_id, begun, over, peer, reference))

    def _learn(self, key: tuple[Any, ...], span: SpanTemplate, peer_length: int) -> None:
        template = self._encoder.template(span, peer_length, id_prefixes())
        if template is not None:
            if len(self._templates) >= self._most:
                self._templates.clear()
            self._templates[key] = template


def _peer(client: tuple[Any, ...]) -> tuple[str, bytes | None]:
    peer = PEERS[client]
    return peer, plain(peer)
