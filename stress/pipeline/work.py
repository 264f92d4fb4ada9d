"""The work of the producers: three-span segments, recorded through the public API, or offered again once finished."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import Any

from swagent import entry_span, exit_span, local_span
from swagent.record.trace.tracer import Tracer

_KEPT = 256


def record() -> None:
    """One segment: entry, local and exit span, three tags each."""
    with entry_span("/orders/{id}", component=7014, layer=3) as entry:
        entry.tag("http.method", "GET").tag("url", "http://shop.example/orders/17").tag("http.status_code", "200")
        with local_span("load order") as local:
            local.tag("order", "17").tag("cache.hit", "false").tag("rows", "3")
            with exit_span("/stock", "stock.example:8080", component=7019, layer=3) as exit_:
                exit_.tag("http.method", "GET").tag("url", "http://stock.example/stock").tag("http.status_code", "200")


def finished(tracer: Tracer) -> Callable[[], None]:
    """A function that hands over one finished segment, as the tracer does when the last span ends. They are recorded
    before, and handed over again and again, so their ids repeat; collectors that count do not care."""
    kept: list[tuple[Any, Any]] = []
    offer = tracer._offer  # noqa: SLF001
    tracer._offer = lambda segment: kept.append((segment, segment.spans))  # noqa: SLF001
    for _ in range(_KEPT):
        record()
    tracer._offer = offer  # noqa: SLF001
    following = cycle(kept).__next__

    def hand_over() -> None:
        segment, spans = following()
        segment.spans = spans
        tracer.finish(segment)

    return hand_over
