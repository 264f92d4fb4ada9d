"""A trace with all that a segment can carry: two segments, a reference, tags and logs beyond ASCII, an error."""

from __future__ import annotations

from swagent import entry_span, exit_span
from swagent.record.trace.model import Component, Layer


def record_sample() -> str:
    """Record it; returns its id."""
    web, http = Component.FASTAPI, Layer.HTTP
    with entry_span("GET:/orders/{item}", component=web, layer=http) as entry:
        entry.tag("http.method", "GET").tag("note", "gr\u00fc\u00df \U0001f40d \"'\\")
        with exit_span("GET:/stock", "10.0.0.7:8080", component=Component.HTTPX, layer=http) as out:
            headers = out.headers()
            with entry_span("GET:/stock/{item}", sw8=headers["sw8"], component=web, layer=http) as served:
                served.error(KeyError("umbrella"))
        entry.log(event="sold", pieces="3")
        return entry.trace_id
