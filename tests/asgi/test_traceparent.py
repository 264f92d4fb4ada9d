"""A caller that sends `traceparent` and no `sw8`: its trace goes on, asked for or not, and nothing is made up."""

from __future__ import annotations

from typing import Any

import pytest

from asgi.calling import SW8, answers, doing, http_scope, segments_of
from swagent import current_trace_id, exit_span

pytestmark = pytest.mark.anyio

TRACE = "0af7651916cd43dd8448eb211c80319c"
CALLER = f"00-{TRACE}-b7ad6b7169203331-01".encode()
HEADERS = [(b"traceparent", CALLER), (b"tracestate", b"a=1"), (b"tracestate", b"b=2")]


@pytest.mark.parametrize("asks", ["nothing", "the trace's id", "headers to send"])
async def test_the_trace_goes_on(asks: str) -> None:
    seen: list[str] = []

    def ask() -> None:
        if asks == "the trace's id":
            seen.append(current_trace_id())
        elif asks == "headers to send":
            with exit_span("call", "stock:80") as span:
                seen.append(span.headers()["traceparent"].split("-")[1])
                assert span.headers()["tracestate"].endswith(",a=1,b=2")

    [segment] = await segments_of(doing(ask), http_scope("/orders", HEADERS))
    assert segment.trace_id == TRACE
    assert seen in ([], [TRACE])
    [entry] = [span for span in segment.spans if span.kind == "Entry"]
    assert list(entry.references) == []
    assert ("traceparent", CALLER.decode()) in [tuple(tag) for tag in entry.tags]
    assert entry.operation == "GET:/orders"


async def test_sw8_wins() -> None:
    [segment] = await segments_of(answers(), http_scope("/", [*HEADERS, (b"sw8", SW8)]))
    assert (segment.trace_id, len(segment.spans[0].references)) == ("trace-1", 1)


@pytest.mark.one_loop
@pytest.mark.parametrize(
    "headers", [[(b"traceparent", b"00-0-0-01")], [(b"traceparent", CALLER)] * 2], ids=["bad", "two"]
)
async def test_a_malformed_header_begins_a_trace(headers: list[tuple[bytes, bytes]]) -> None:
    [segment] = await segments_of(answers(), http_scope("/", headers))
    assert segment.trace_id not in ("", TRACE)
    assert not any(tag[0] == "traceparent" for tag in segment.spans[0].tags)


@pytest.mark.parametrize("setting", ["propagate_traceparent", "trust_incoming"])
async def test_it_can_be_left_out(setting: str) -> None:
    settings: dict[str, Any] = {setting: False}
    [segment] = await segments_of(answers(), http_scope("/", HEADERS), **settings)
    assert segment.trace_id != TRACE
