"""The real OAP shows a websocket while it is open, and a call that was cancelled as what it was."""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from websockets.asyncio.client import connect

from e2e.answers import Span
from e2e.graphql import OapQuery, eventually
from e2e.services import running, wait_served
from kit.real.oap import Oap
from kit.real.ports import free_ports

pytestmark = pytest.mark.anyio
HERE = Path(__file__).parent
MESSAGES = 700


@contextmanager
def serve(oap: Oap) -> Iterator[str]:
    """The application under `swagent run`; gives its host and port."""
    (port,) = free_ports(1)
    environ = {
        "SW_AGENT_NAME": f"talk-{uuid.uuid4().hex[:6]}",
        "SW_AGENT_COLLECTOR_BACKEND_SERVICES": oap.grpc_address,
        "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]),
    }
    python = sys.executable
    command = [python, "-m", "swagent", "run", "--", python, "-m", "uvicorn", "long_app:app", "--port", str(port)]
    with running(command, HERE, environ):
        yield f"127.0.0.1:{port}"


def named(spans: list[Span], name: str) -> list[Span]:
    return [span for span in spans if span.operation == name]


async def test_the_oap_shows_a_websocket_of_700_messages_while_it_is_open(oap: Oap, query: OapQuery) -> None:
    with serve(oap) as address:
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
