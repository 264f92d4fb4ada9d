"""A collector with all its ports, and clients for them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from collector.answers import check_response
from swagent.collector.server import Collector
from swagent.collector.store.records import LogLine
from swagent.collector.store.store import Store
from swagent.collector.store.trace_records import Reference, Segment, Span

START = 1_700_000_000_000


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
