"""The Model Context Protocol, by its own package's client: over stdio, and over HTTP at the page's port."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from anyio import create_task_group, create_tcp_listener, to_thread
from anyio.abc import SocketAttribute, SocketStream

from collector.made_traces import Did, Request, call, made, raised
from collector.served import line, serving
from collector.test_findings_now import failing, payments
from collector.test_findings_of_a_trace import payment
from swagent.collector.api import queries
from swagent.collector.mcp.asking import AskingError, OtherCollector
from swagent.collector.mcp.bounded import MOST_BYTES, BoundedText
from swagent.collector.mcp.tools import TOOLS, answer_of
from swagent.collector.server import Collector
from swagent.collector.store.store import Store
from swagent.collector.store.trace_records import Segment, Span

pytest.importorskip("mcp", reason="there is no mcp for this Python")

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import CallToolResult, TextContent

pytestmark = pytest.mark.anyio
COMMAND = ("-m", "swagent", "collector", "--mcp")
FREE = ("--port", "0", "--http-port", "0")


def fill(store: Store, *more: list[Segment]) -> None:
    """Slow and failed requests, a usual one, and a line of a log."""
    slow = made(payment(3170, 160), 20_000, "slow")
    for trace in (*payments(100), failing(3), slow, *more):
        for segment in trace:
            store.add(segment)
    store.add(line(0, "ERROR", "slow"))


def large() -> list[Segment]:
    """A trace of 5,000 spans of four services, with long names that differ, and a slow query in its depth."""
    did = [
        call(
            Request(
                f"service-{number}", f"GET:/{'long' * 30}/{number}", 10 + number, 900 + number,
                [Did(f"SELECT {'column, ' * 20}{row} FROM t{row}", 11 + number, 12 + number, f"db-{row}:5432")
                 for row in range(1247)],
            )
        )
        for number in range(4)
    ]  # fmt: skip
    slow = Did("SELECT slow", 950, 4000, "ledger-db:5432", error=True, logs=raised("app.Deadlock", "shop/db.py", 7))
    return made(Request("shop", "GET:/large", 0, 4010, [*did, slow]), 30_000, "large")


def text_of(result: CallToolResult) -> str:
    """The text of an answer."""
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


@asynccontextmanager
async def over_http(*more: list[Segment], is_empty: bool = False) -> AsyncGenerator[tuple[Store, Client], None]:
    """A client of a collector with these traces besides the usual ones."""
    async with serving() as (collector, _):
        if not is_empty:
            fill(collector.store, *more)
        async with Client(f"http://{collector.page_address}/mcp") as client:
            yield collector.store, client


@asynccontextmanager
async def over_stdio(*options: str) -> AsyncGenerator[Client, None]:
    parameters = StdioServerParameters(command=sys.executable, args=[*COMMAND, *FREE, *options])
    async with Client(stdio_client(parameters)) as client:
        yield client


QUESTIONS: Mapping[str, tuple[dict[str, Any], str]] = {
    "findings": ({"worse_since_minutes": 5}, "1. slow dependency"),
    "traces": ({"query": "dur>1s", "sort": "slowest"}, "large 2023"),
    "trace": ({"trace_id": "slow"}, "Most of its time: 95 % · payments → ledger-db:5432 · SELECT balance"),
    "compare": ({"minutes_ago": 1, "service": "shop"}, "Before and after"),
    "errors": ({"service": "stock"}, "OutOfStock at /app/stock/pool.py:118"),
    "logs": ({"level": "ERROR"}, "ERROR shop shop.orders: Order 0 of a Größe (trace slow)"),
    "services": ({"service": "payments"}, "POST:/pay: "),
    "profile": ({}, "0 profiles"),
}


@pytest.mark.gate
async def test_each_tool_answers_over_http() -> None:
    assert set(QUESTIONS) == {tool.name for tool in TOOLS}
    async with over_http(large()) as (_, client):
        offered = await client.list_tools()
        assert [tool.name for tool in offered.tools] == [tool.name for tool in TOOLS]
        assert len(offered.tools) <= 8
        for name, (arguments, words) in QUESTIONS.items():
            result = await client.call_tool(name, arguments)
            assert not result.is_error
            assert words in text_of(result), (name, text_of(result))


async def test_no_number_is_made_of_what_is_not_known() -> None:
    async with over_http() as (store, client):
        store.add(Segment("t", "s", "worker", "worker-1", (Span(0, -1, 1, 2, "tick"),)))
        services = text_of(await client.call_tool("services", {}))
        changes = text_of(await client.call_tool("compare", {"minutes_ago": 1}))
    assert "worker: no calls, last seen " in services
    assert "unknown" in changes, "all calls are on one side"
    assert "None" not in services + changes


@pytest.mark.gate
async def test_a_trace_of_5000_spans_is_explained_within_the_bound() -> None:
    async with over_http(large()) as (_, client):
        text = text_of(await client.call_tool("trace", {"trace_id": "large"}))
    assert len(text.encode()) <= MOST_BYTES
    head, culprit, *rows = text.splitlines()
    assert "4010 ms, 4,998 spans of shop, service-0, service-1" in head
    assert "shop → ledger-db:5432 · SELECT slow · 3.05 s" in culprit
    assert any("SELECT slow → ledger-db:5432: 3050 ms [950], FAILED" in row for row in rows)
    assert any("left out" in row for row in rows)


async def test_an_answer_says_how_much_is_left_out() -> None:
    text = BoundedText(1000)
    text.add("head")
    text.rows([f"row {number} {'x' * 90}" for number in range(100)], "row", "Narrow it.")
    said = str(text)
    assert len(said.encode()) <= 1000
    shown = said.count("\nrow ")
    assert said.splitlines()[-1] == f"({100 - shown} more rows left out. Narrow it.)"
    assert 1 < shown < 10


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("trace", {"trace_id": "none"}, "nothing is kept of 'none'"),
        ("trace", {}, "trace_id: is missing"),
        ("traces", {"query": "dur>"}, "dur>"),
        ("traces", {"sort": "best"}, "sort: takes newest or slowest"),
        ("traces", {"minutes": "5"}, "minutes: takes a number"),
        ("traces", {"minutes": -1}, "minutes: takes a number from 0 to 1,000,000,000"),
        ("findings", {"minutes": 1e300}, "minutes: takes a number from 0 to 1,000,000,000"),
        ("compare", {"minutes_ago": 10**400}, "minutes_ago: takes a number from 0 to 1,000,000,000"),
        ("logs", {"colour": "red"}, "logs takes service, level, text, trace_id, minutes, not 'colour'"),
        ("guess", {}, "there is no tool 'guess': take findings,"),
    ],
)
async def test_a_wrong_question_is_answered_with_a_remedy(name: str, arguments: dict[str, Any], words: str) -> None:
    async with over_http(is_empty=True) as (_, client):
        result = await client.call_tool(name, arguments)
    assert result.is_error
    assert words in text_of(result)


@pytest.mark.gate
async def test_over_stdio_and_a_second_one_asks_the_first(tmp_path: Any) -> None:
    async with Collector(page_port=0) as collector:
        fill(collector.store)
        port = collector.page_address.rpartition(":")[2]
        async with over_stdio("--page-port", port) as client:
            found = text_of(await client.call_tool("findings", {}))
            assert "1. slow dependency: 95 %" in found
            assert (await client.call_tool("trace", {"trace_id": "no/ne"})).is_error
    async with over_stdio("--page-port", "0", "--store", str(tmp_path / "traces.db")) as client:
        assert text_of(await client.call_tool("services", {})) == "0 services:"


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
async def test_a_number_that_is_no_time_is_refused(value: float) -> None:
    async def ask(path: str, parts: Mapping[str, str] = {}, /, **query: str | int | None) -> dict[str, Any]:
        raise AssertionError(path, parts, query)

    with pytest.raises(AskingError, match="minutes: takes a number from 0"):
        await answer_of(ask, "findings", {"minutes": value})


@pytest.mark.parametrize(
    "reply",
    [b"-ERR unknown command\r\n", b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n1", b"HTTP/1.1 200 OK\r\n\r\n{", b""],
    ids=["Redis", "a number", "half an object", "nothing"],
)
async def test_another_program_at_the_port_of_the_page_is_no_collector(reply: bytes) -> None:
    async def answer(stream: SocketStream) -> None:
        async with stream:
            await stream.receive()
            if reply:
                await stream.send(reply)

    listener = await create_tcp_listener(local_host="127.0.0.1")
    async with listener, create_task_group() as group:
        group.start_soon(listener.serve, answer)
        other = OtherCollector(f"127.0.0.1:{listener.extra(SocketAttribute.local_port)}")
        assert not await to_thread.run_sync(other.is_there)
        with pytest.raises(AskingError):
            await other("/api/findings")
        group.cancel_scope.cancel()


async def test_another_collector_is_asked_for_findings_of_now(monkeypatch: pytest.MonkeyPatch) -> None:
    # as where there is so much to look at that a page is content with the last answer
    monkeypatch.setitem(queries._KEPT, "/api/findings", 0.0)
    async with serving() as (collector, client):
        fill(collector.store)
        before = (await client.get("/api/findings")).json()
        for segment in made(payment(), 50_000, "later"):
            collector.store.add(segment)
        assert (await client.get("/api/findings")).json() == before
        text = await answer_of(OtherCollector(collector.page_address), "findings", {})
    assert f"in {before['requests'] + 1} requests" in text


async def test_only_local_tools_may_ask() -> None:
    body: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    accepted = {"accept": "application/json, text/event-stream"}
    async with (
        serving() as (collector, _),
        httpx.AsyncClient(base_url=f"http://{collector.page_address}", trust_env=False) as client,
    ):
        for headers, status in (
            ({"host": "evil.example"}, 403),
            ({"origin": "http://evil.example"}, 403),
            ({"sec-fetch-site": "cross-site"}, 403),
            ({"content-type": "text/plain"}, 415),
            ({}, 200),
        ):
            answer = await client.post("/mcp", json=body, headers={**accepted, **headers})
            assert answer.status_code == status, (headers, answer.text)
        assert [tool["name"] for tool in answer.json()["result"]["tools"]] == [tool.name for tool in TOOLS]
        assert (await client.get("/mcp")).status_code == 405
        assert (await client.delete("/mcp")).status_code == 405
        too_large = {**body, "params": {"x": "y" * 100_000}}
        assert (await client.post("/mcp", json=too_large, headers=accepted)).status_code == 413


WITHOUT = "import sys; sys.modules['mcp'] = None; from swagent.cli import main; sys.exit(main(sys.argv[1:]))"


@pytest.mark.gate
def test_without_the_package_it_says_how_to_get_it() -> None:
    command = [sys.executable, "-c", WITHOUT, "collector", "--mcp", *FREE]
    done = subprocess.run(command, env={**os.environ}, capture_output=True, text=True, timeout=50, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "mcp is missing; install it with: pip install 'swagent[collector,mcp]'" in done.stderr


async def test_without_the_package_the_page_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "swagent.collector.mcp.serving", raising=False)
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    async with serving() as (collector, _), httpx.AsyncClient(trust_env=False) as client:
        answer = await client.post(f"http://{collector.page_address}/mcp", json={})
    assert answer.status_code == 501
    assert "pip install 'swagent[collector,mcp]'" in answer.json()["error"]
