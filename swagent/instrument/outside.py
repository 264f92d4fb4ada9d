"""Calls outside of any request: of a pool that keeps its connections alive, of a scheduler that polls a table.

Nothing above them says why they were made, and an idle process makes hundreds a minute. So calls to databases and
caches are counted there, and are no traces of their own, unless a setting wants that. Below any span they are recorded
as always, and so is what a request has left behind, for as long as it continues the request.
"""

from __future__ import annotations

from ..meters import Counter
from ..record.trace.context import Active, active_span
from ..record.trace.model import Layer, SpanKind
from ..record.trace.span import Span, parent_link
from . import settings

_COUNTED = frozenset((Layer.DATABASE, Layer.CACHE))
_MOST = 256
_OVERFLOW = ("_overflow", "_overflow")


def is_only_counted(name: str, peer: str, layer: int, entry: Active[Span] | None) -> bool:
    """Whether a call is outside of any request, and of a kind that has no trace of its own there. It is counted then.

    :param entry: what the context holds
    """
    if layer not in _COUNTED or settings.current().calls_outside_requests:
        return False
    if entry is not None and (active_span(entry) is not None or parent_link(entry, SpanKind.EXIT) is not None):
        return False
    _counter(name, peer).increment()
    return True


def _counter(*place: str) -> Counter:
    """Of an operation and a peer; the ones beyond the bound have one together."""
    found = _counters.get(place)
    if found is None:
        place = place if len(_counters) < _MOST else _OVERFLOW
        labels: dict[str, object] = {"operation": place[0], "peer": place[1]}
        # another thread may have made it meanwhile: both count in the same series
        found = _counters[place] = Counter("swagent_calls_outside_requests", labels=labels)
    return found


_counters: dict[tuple[str, ...], Counter] = {}
