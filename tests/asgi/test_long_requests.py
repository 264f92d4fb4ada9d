"""Requests that last, and requests that are cut off: all of their spans arrive, and in time."""

from __future__ import annotations

from collections import Counter
from typing import Any

import anyio
import pytest

from asgi.calling import body, call, doing, http_scope, segments_of, start, traced, websocket_scope
from swagent import current_trace_id, exit_span, local_span, trace
from swagent.asgi.lifespan import Receive, Scope, Send
from swagent.record.trace.context import current
from swagent.request.pending import PendingRequest

pytestmark = pytest.mark.anyio

MESSAGES = 700


@pytest.mark.gate
async def test_the_messages_of_a_websocket_arrive_while_it_is_open() -> None:
    arrived: Counter[str] = Counter()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "websocket.accept"})
        for number in range(MESSAGES):
            with local_span(f"message {number}"), exit_span("store", "db:5432"):
                pass
        with anyio.fail_after(10):
            while arrived["store"] < MESSAGES:
                arrived.clear()
                arrived.update(span.operation for segment in await shop.segments() for span in segment.spans)
                await anyio.sleep(0.1)
        assert arrived["WEBSOCKET:/talk"] == 0, "it is open"
        await send({"type": "websocket.close"})

    async with traced(app) as shop:
        await call(shop.app, websocket_scope("/talk"))
        segments = await shop.segments()
    roots = [(each, span) for each in segments for span in each.spans if span.operation == "WEBSOCKET:/talk"]
    [(first, root)] = roots
    assert len({each.trace_id for each in segments}) == 1
    names = Counter(span.operation for each in segments for span in each.spans)
    assert names == Counter({"WEBSOCKET:/talk": 1, "store": MESSAGES} | {f"message {n}": 1 for n in range(MESSAGES)})
    for segment in segments:
        for span in segment.spans:
            if span.operation.startswith("message"):
                [reference] = span.references
                assert (reference.segment_id, reference.span_id) == (first.segment_id, root.span_id)


# trio says so of a generator that is not closed, as this application does not
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
async def test_a_stream_that_is_cut_off_leaves_no_generator_holding_a_span() -> None:
    class GoneError(OSError):
        pass

    async def refuse(message: Any) -> None:
        if message["type"] == "http.response.body":
            raise GoneError

    @trace("pieces")
    async def pieces() -> Any:
        for number in range(3):
            with local_span(f"piece {number}"):
                yield b"piece"

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(start())
        async for piece in pieces():
            await send(body(piece, more=True))

    async def receive() -> Any:
        await anyio.sleep_forever()

    async with traced(app) as shop:
        for _ in range(20):
            with pytest.raises(GoneError):
                await shop.app(http_scope(), receive, refuse)
    segments = shop.arrived()
    names = Counter(span.operation for each in segments for span in each.spans)
    assert names == {"GET:/": 20, "pieces": 20, "piece 0": 20}


async def test_a_span_that_is_open_at_the_stop_is_recorded_as_it_is() -> None:
    is_open, may_end = anyio.Event(), anyio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        with local_span("slow"):
            is_open.set()
            await may_end.wait()

    async with anyio.create_task_group() as group:
        async with traced(app) as shop:
            group.start_soon(call, shop.app, http_scope("/slow"))
            await is_open.wait()
        may_end.set()
    [segment] = shop.arrived()
    assert {span.operation: dict(span.tags).get("incomplete") for span in segment.spans} == {
        "GET:/slow": "true", "slow": "true"}  # fmt: skip
    assert shop.agent.statistics().segment.incomplete == 2


@pytest.mark.parametrize(
    "look", [repr, dir, str, bool, lambda each: hasattr(each, "tags"), lambda each: getattr(each, "segment", None)]
)
async def test_looking_at_a_request_changes_nothing(look: Any) -> None:
    seen: list[PendingRequest] = []

    def ask() -> None:
        request = current.get()
        assert isinstance(request, PendingRequest)
        seen.append(request)
        look(request)
        assert current_trace_id()
        assert request.span is None

    [segment] = await segments_of(doing(ask), http_scope())
    assert seen[0].span is None, "it took the fast path"
    assert segment.trace_id == seen[0].trace_id
