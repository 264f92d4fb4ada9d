"""Tests with a budget each, run by `test_trace_fixture.py` in a pytest of their own: those named `..._found` have a
regression, and have to fail.
"""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from starlette.testclient import TestClient
from werkzeug.test import Client as WsgiClient

from swagent.testing import Trace
from testing.budgeted import PLENTY_MS, SHORT_MS, WSGI_SHOP, database, get, hold, lines_of_all, lines_of_each, shop


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> Any:
    """The loops of the async tests."""
    return request.param


APP = shop()
"""As most tests have it: made once, before there is an agent."""


def ask(query: str, app: Any = APP) -> None:
    """Send a request from a test without a loop."""
    TestClient(app, raise_server_exceptions=False).get(f"/orders?{query}")


# -- 1: too many queries


def test_queries_found(trace: Trace) -> None:
    trace.max_queries(3)
    ask("each")


def test_queries(trace: Trace) -> None:
    trace.max_queries(2)
    ask("all")


# -- 2: one query for each row


def test_rows_found(trace: Trace) -> None:
    ask("each")
    trace.no_n_plus_one()


def test_rows(trace: Trace) -> None:
    ask("all")
    trace.no_n_plus_one(least=3)


# -- 3: the same without a request


def test_function_found(trace: Trace) -> None:
    lines_of_each(database())
    trace.no_n_plus_one()


def test_function(trace: Trace) -> None:
    connection = database()
    for number in range(15):
        connection.execute("INSERT INTO lines VALUES (?, 'lamp')", (number,))
    lines_of_all(connection)
    trace.no_n_plus_one()


# -- 4: one call of another service for each row


@pytest.mark.anyio
async def test_calls_found(trace: Trace) -> None:
    await get(APP, "stock=12")
    trace.no_n_plus_one()


@pytest.mark.anyio
async def test_calls(trace: Trace) -> None:
    for _ in range(12):
        await get(APP, "stock=1")
    trace.no_n_plus_one()


# -- 5: a request that holds the loop


def test_held_by_a_request_found(trace: Trace) -> None:
    app: Any = TestClient(shop())
    with app as client:  # with its lifespan
        client.get("/orders?blocks")
    trace.max_blocked_ms(SHORT_MS)


@pytest.mark.anyio
async def test_held_by_a_request(trace: Trace) -> None:
    trace.max_blocked_ms(PLENTY_MS)
    await get(APP, "waits=0.2")


# -- 6: a loop that is held by what no span is around


@pytest.mark.anyio
async def test_held_found(trace: Trace) -> None:
    trace.max_blocked_ms(SHORT_MS)
    hold()


@pytest.mark.anyio
async def test_held(trace: Trace) -> None:
    await get(APP, "all")
    trace.max_blocked_ms(PLENTY_MS)
    await anyio.sleep(0.2)


# -- 7: a wait


@pytest.mark.anyio
async def test_waits_found(trace: Trace) -> None:
    await get(shop(), "waits=0.2")
    trace.max_awaiting_ms(SHORT_MS)


@pytest.mark.anyio
async def test_waits(trace: Trace) -> None:
    await get(shop(), "waits=0.001")
    trace.max_awaiting_ms(PLENTY_MS)


# -- 8: a call that fails, and no answer shows it


def test_survived_failure_found(trace: Trace) -> None:
    trace.no_failed()
    ask("survives")


def test_survived_failure(trace: Trace) -> None:
    trace.no_failed()
    ask("stock=1")


# -- 9: WSGI, and a part of a test


def test_part_found(trace: Trace) -> None:
    lines_of_each(database())
    with trace.watch() as part:
        part.max_queries(5)
        WsgiClient(WSGI_SHOP).get("/orders?each")


def test_part(trace: Trace) -> None:
    lines_of_each(database())
    with trace.watch() as part:
        WsgiClient(WSGI_SHOP).get("/orders?all")
    part.max_queries(2)
    part.no_failed()
    with pytest.raises(AssertionError, match="23 queries"):
        trace.max_queries(2)


# -- no budget holds where nothing was recorded


def test_nothing_found(trace: Trace) -> None:
    trace.max_queries(3)


def test_nothing(trace: Trace) -> None:
    trace.max_queries(0)
