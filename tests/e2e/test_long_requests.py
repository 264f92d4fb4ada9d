"""The real OAP shows a websocket while it is open."""

from __future__ import annotations

import uuid

import pytest
from websockets.asyncio.client import connect

from e2e.answers import Span
from e2e.graphql import OapQuery, eventually
from e2e.services import serving, wait_served
from kit.real.oap import Oap

pytestmark = pytest.mark.anyio
MESSAGES = 700


def named(spans: list[Span], name: str) -> list[Span]:
    return [span for span in spans if span.operation == name]


async def test_the_oap_shows_a_websocket_of_700_messages_while_it_is_open(oap: Oap, query: OapQuery) -> None:
    run = ("swagent", "run", "--", "{python}", "-m", "uvicorn", "long_app:app", "--port", "{port}")
    with serving(f"talk-{uuid.uuid4().hex[:6]}", oap, *run) as address:
        await wait_served(f"http://{address}")
        async with connect(f"ws://{address}/talk", proxy=None) as websocket:
            trace_id = str(await websocket.recv())
            for number in range(MESSAGES):
                await websocket.send(str(number))
                assert await websocket.recv() == str(number)
            spans = await eventually(
                lambda: query.trace(trace_id), until=lambda found: len(named(found, "store")) >= MESSAGES
            )
            assert not named(spans, "WEBSOCKET:/talk"), "it is open"
        spans = await eventually(
            lambda: query.trace(trace_id), until=lambda found: len(named(found, "WEBSOCKET:/talk")) == 1
        )
    stored = named(spans, "store")
    assert len({(span.segment_id, span.span_id) for span in stored}) == len(stored) == MESSAGES
    assert len(named(spans, "message")) == MESSAGES
