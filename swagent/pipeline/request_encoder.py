"""Finished requests become segments of one span: rendered from templates, one for each kind of request.

Requests come in groups. The work for each request of a group is done by column, so that most of it runs in C. A
request that is like none before it, or that cannot be like any, is encoded by itself, and is an example for the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from math import floor
from typing import Any

from ..acceleration import native
from ..record.bounded_cache import BoundedCache
from ..record.trace.carrier import parse_sw8
from ..record.trace.ids import id_prefixes, ids_of
from ..record.trace.model import RefKind
from ..record.trace.single_span import SingleSpanSegment, SpanTemplate
from ..record.trace.tracer import Tracer
from ..request.description import PEERS, admit, describe, name_by_path
from ..request.facts import UNMATCHED, Facts
from ..request.finished import FACTS, FIELDS, columns
from ..request.split_times import SplitTimes
from .caller_encoder import ODD, CallerEncoder
from .encoder import Encoder, plain
from .segment_template import EARLIEST, LATEST, Lengths


class RequestEncoder:
    """Encodes the requests of one agent, within its limits. One caller at a time."""

    def __init__(self, encoder: Encoder, tracer: Tracer) -> None:
        self._encoder = encoder
        self._endpoints = tracer.endpoints
        # asked at each group, since the ignored operations may change
        self._tracer = tracer
        # with it no two requests need be alike, and there are no templates
        self._real_path = tracer.real_path
        self._times = _plain_times(encoder.write_time)
        self._peers = BoundedCache(_plain_peer)
        self._callers = CallerEncoder(encoder)
        # where the time of a request went, as it is written
        self._splits: BoundedCache[SplitTimes | None, bytes] = BoundedCache(
            lambda times: encoder.more_tags(times.tags()) if times is not None else b""
        )
        # by the fields that the requests of one template share, and the lengths of the others
        self._templates: dict[tuple[Any, ...], Any] = {}
        self._most = 1024
        self._renderer: Any = None
        if native is not None:
            references = self._callers.templates
            self._renderer = native.Renderer(
                self._templates, self._peers, self._splits, references, ODD, encoder.is_binary
            )

    def encode_alike(self, row: Sequence[Any], epoch: float) -> Sequence[bytes | None]:
        """SegmentObjects of the requests that are like earlier ones; None for each of the others. Never raises.

        :param row: the fields of one request after the other
        :param epoch: added to the requests' times it gives seconds since the epoch
        """
        try:
            if self._renderer is not None:
                tracer = self._tracer
                return self._renderer.render(row, epoch, tracer.ignores_dots_only, self._is_ignored)  # type: ignore[no-any-return]
            return self._render(row, epoch)
        except Exception:  # noqa: BLE001, RUF100  (what no server says: each is looked at by itself, and may raise)
            return [None] * (len(row) // FIELDS)

    def _render(self, row: Sequence[Any], epoch: float) -> Sequence[bytes | None]:
        numbers, starts, ends, clients, callers, splits, *facts = columns(row)
        methods, schemes, hosts, paths, routes, components, statuses = facts
        peers = list(map(self._peers.__getitem__, clients))
        splits = list(map(self._splits.__getitem__, splits))
        lengths = map(len, peers), map(len, splits)
        keys: Any = zip(routes, statuses, methods, hosts, schemes, components, *lengths, strict=True)
        trace_ids: list[bytes] = []
        references: Iterable[bytes] = repeat(b"")
        if any(callers):
            trace_ids, references = self._read(callers)
            keys = [
                (*key, len(trace_id), len(reference)) if trace_id else key
                for key, trace_id, reference in zip(keys, trace_ids, references, strict=True)
            ]
        forms = list(map(self._templates.get, keys))
        tracer = self._tracer
        if not tracer.ignores_dots_only or "." in "".join(paths):
            ignored = map(tracer.is_ignored, map(name_by_path, methods, paths))
            forms = [None if skip else each for skip, each in zip(ignored, forms, strict=True)]
        milliseconds = map(floor, [(epoch + at) * 1000.0 for at in (*starts, *ends)])
        times = list(map(self._times.__getitem__, milliseconds))
        if not all(times):
            return [None] * len(numbers)
        segment_ids = (b"%x " * len(numbers) % tuple(numbers)).split()
        if trace_ids:
            trace_ids = [own or other for own, other in zip(trace_ids, segment_ids, strict=True)]
        parts = zip(
            trace_ids or segment_ids, segment_ids, times, times[len(numbers) :], references, peers, splits, strict=False
        )
        return [None if form is None else form % each for form, each in zip(forms, parts, strict=True)]

    def _is_ignored(self, method: str, path: str) -> bool:
        return self._tracer.is_ignored(name_by_path(method, path))

    def encode(self, finished: Sequence[Any], epoch: float) -> bytes | None:
        """A SegmentObject of one request, whatever it is like; None where it is not recorded."""
        number, start, end, client, caller, split = finished[:FACTS]
        facts = Facts(*finished[FACTS:])
        client = tuple(client) if client else None
        if self._tracer.is_ignored(name_by_path(facts.method, facts.path)):
            return None
        carrier = parse_sw8(caller) if caller is not None else None
        if carrier is not None and not carrier.sampled:
            return None
        span = describe(facts, self._real_path)
        name = admit(span, facts, self._endpoints)
        is_known, more = name == span.name, split.tags() if split is not None else ()
        if more or not is_known:
            tags = (*span.tags, *more)
            span = SpanTemplate(name, span.kind, span.layer, span.component, tags, failed=span.failed)
        if is_known and facts.template is not None and facts.template is not UNMATCHED and not self._real_path:
            self._learn(facts, span, client, caller, split)
        trace_id, segment_id = ids_of(number)
        reference = None
        if carrier is not None:
            trace_id, reference = carrier.trace_id, self._encoder.reference(RefKind.CROSS_PROCESS, *carrier[1:])
        times = int((epoch + start) * 1000), int((epoch + end) * 1000)
        peer = PEERS[client] if client else ""
        return self._encoder.encode_generic(SingleSpanSegment(span, trace_id, segment_id, *times, peer), reference)

    def _read(self, callers: Sequence[Any]) -> tuple[list[bytes], list[bytes]]:
        """The traces' ids and the references of requests that were called by others, as they are written."""
        read = [self._callers.encode(each) for each in callers]
        return [trace_id for trace_id, _ in read], [reference for _, reference in read]

    def _learn(self, facts: Facts, span: SpanTemplate, client: Any, caller: Any, split: SplitTimes | None) -> None:
        """Make a template of the first request of a kind, unless it is odd."""
        peer, more = self._peers[client], self._splits[split]
        trace_id, reference = self._callers.encode(caller)
        if ODD in (peer, trace_id):
            return
        lengths = Lengths(len(peer), len(trace_id) or 32, len(reference))
        of_traces, of_segments = id_prefixes()
        # a caller's trace has an id of its own
        template = self._encoder.template(span, lengths, ("" if trace_id else of_traces, of_segments), more)
        if template is not None:
            if len(self._templates) >= self._most:
                self._templates.clear()
            kind = (facts.template, facts.status, facts.method, facts.host, facts.scheme, facts.component, len(peer),
                    len(more))  # fmt: skip
            key = (*kind, len(trace_id), len(reference)) if trace_id else kind
            self._templates[key] = template if native is None else native.Form(template)


def _plain_times(write_time: Callable[[int], bytes]) -> BoundedCache[int, bytes]:
    """Times as they are written; nothing for one that takes more or fewer bytes than those of our age."""

    def write(milliseconds: int) -> bytes:
        return write_time(milliseconds) if EARLIEST <= milliseconds <= LATEST else b""

    return BoundedCache(write)


def _plain_peer(client: tuple[Any, ...] | None) -> bytes:
    written = plain(PEERS[client]) if client else b""
    return ODD if written is None else written
