"""A collector with all its ports, and clients for them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from grpclib.client import Channel

from collector.answers import check_response
from swagent.collector.api.app import page_app
from swagent.collector.api.changes import Changes
from swagent.collector.api.mostly import MostlyIndex
from swagent.collector.api.newest import NewestTraces
from swagent.collector.api.traces import traces
from swagent.collector.server import Collector
from swagent.collector.store.records import LogLine, Record
from swagent.collector.store.store import Store
from swagent.collector.store.trace_records import Reference, Segment, Span

START = 1_700_000_000_000
ADDRESSES = {"grpc": "127.0.0.1:1", "http": "127.0.0.1:2", "kafka": None}


def channel_to(collector: Collector, **settings: Any) -> Channel:
    """A channel to its port of gRPC."""
    host, port = collector.address.rsplit(":", 1)
    return Channel(host, int(port), **settings)


class Api:
    """Asks the API without a server, checks each answer by its model, and reads it."""

    def __init__(self, store: Store | None = None) -> None:
        self.store = store or Store()
        app = page_app(self.store, Changes(self.store), lambda: ADDRESSES, "127.0.0.1")
        self.client = httpx.AsyncClient(
            transport=httpx.ASGITransport(app),
            base_url="http://127.0.0.1",
            event_hooks={"response": [check_response]},
        )

    async def __call__(self, path: str, status: int = 200, **parameters: Any) -> Any:
        """The answer to a path below `/api/`; `from_` is the parameter `from`."""
        sent = {key.rstrip("_"): str(value) for key, value in parameters.items()}
        answer = await self.client.get(f"/api/{path}", params=sent)
        assert answer.status_code == status, answer.text
        return answer.json()

    def add(self, *records: Record) -> None:
        for each in records:
            self.store.add(each)


@asynccontextmanager
async def serving(store: Store | None = None) -> AsyncIterator[tuple[Collector, httpx.AsyncClient]]:
    """The collector, and a client of its page that checks each answer by its model."""
    async with (
        Collector(store=store, http_port=0, page_port=0) as collector,
        httpx.AsyncClient(
            base_url=f"http://{collector.page_address}",
            trust_env=False,
            timeout=50,
            event_hooks={"response": [check_response]},
        ) as client,
    ):
        yield collector, client


def listed(store: Store, sort: str = "newest", limit: int = 50, **filters: Any) -> Any:
    """A page of the traces of a store."""
    return traces(store, NewestTraces(store), MostlyIndex(store), filters, sort, limit, "")


def noted_reads(store: Store, monkeypatch: pytest.MonkeyPatch, *parts: str) -> list[tuple[str, Any]]:
    """The queries with all these parts that the store is asked from now on, with their values."""
    found: list[tuple[str, Any]] = []
    read = store.read

    def noted(query: str, values: Any = ()) -> Any:
        if all(each in query for each in parts):
            found.append((query, values))
        return read(query, values)

    monkeypatch.setattr(store, "read", noted)
    return found


def shop_and_stock(number: int, error: bool = False) -> list[Segment]:
    """A trace: a user's call of `shop`, which calls `stock`, which asks a database."""
    start = START + number * 1000
    trace, first, second = f"trace-{number}", f"a-{number}", f"b-{number}"
    reference = Reference("CrossProcess", trace, first, 1, "shop", "shop-1", "/orders", "stock:80")
    shop = (
        Span(
            1, 0, start + 1, start + 9, "/stock", "stock:80", "Exit", "Http", 7019, tags=(("item", f"Lamp {number}"),)
        ),
        Span(0, -1, start, start + 10 + number, "/orders", "", "Entry", "Http", 7014, error),
    )
    stock = (
        Span(0, -1, start + 2, start + 8, "/stock", "", "Entry", "Http", 7014, error, references=(reference,)),
        Span(1, 0, start + 3, start + 5, "SELECT", "db:5432", "Exit", "Database", 22),
    )
    return [Segment(trace, second, "stock", "stock-1", stock), Segment(trace, first, "shop", "shop-1", shop)]


def line(number: int, level: str = "INFO", trace: str = "") -> LogLine:
    """A log line of `shop`, a second after the one with the number before."""
    tags = (("level", level), ("logger", "shop.orders"))
    text = f"Order {number} of a Größe"
    return LogLine(START + number * 1000, "shop", "shop-1", "/orders", "text", text, tags, "", trace, "a-1", 0)
