"""The trace that `swagent run` shows of services that know nothing of it: a joined one, with each peer by its kind."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from e2e.answers import Span
from e2e.graphql import OapQuery, eventually
from e2e.services import running, wait_served
from kit.real.databases import Postgres
from kit.real.kafka import Kafka
from kit.real.oap import Oap
from kit.real.ports import free_ports
from kit.real.redis import Redis

pytestmark = pytest.mark.anyio

APPLICATIONS = Path(__file__).parent / "unaware"


async def test_services_without_a_line_of_ours_give_one_joined_trace(
    oap: Oap, query: OapQuery, postgres: Postgres, redis_server: Redis, kafka: Kafka
) -> None:
    suffix = uuid.uuid4().hex[:6]
    names = {name: f"{name}-{suffix}" for name in ("orders", "stock", "audit")}
    orders_port, stock_port = free_ports(2)
    environ = {
        "SW_AGENT_COLLECTOR_BACKEND_SERVICES": oap.grpc_address,
        "DATABASE": f"postgresql+asyncpg://{postgres.database}@{postgres.address}/{postgres.database}",
        "CACHE": f"redis://{redis_server.address}/0",
        "BROKER": kafka.address,
        "STOCK": f"http://127.0.0.1:{stock_port}",
    }
    commands = {
        "stock": ("-m", "flask", "--app", "stock", "run", "--port", str(stock_port)),
        "orders": ("-m", "uvicorn", "orders:app", "--port", str(orders_port)),
        "audit": ("audit.py",),
    }
    with ExitStack() as services:
        for name, command in commands.items():
            services.enter_context(_serve(command, {**environ, "SW_AGENT_NAME": names[name]}))
        for port in (stock_port, orders_port):
            await wait_served(f"http://127.0.0.1:{port}")
        async with httpx.AsyncClient(trust_env=False, timeout=30) as client:
            answer = await client.get(f"http://127.0.0.1:{orders_port}/orders/lamp")
        assert answer.json()["left"] == 7
        spans = await _joined_trace(query, names["orders"], 8)
    _is_joined(spans, names)
    await _is_drawn(query, names)


async def _joined_trace(query: OapQuery, service: str, length: int) -> list[Span]:
    """The spans of the service's one request, once all have arrived."""

    async def find() -> list[Span]:
        lines = [line for line in await query.traces(service) if line.endpoint == "GET:/orders/{item}"]
        return await query.trace(lines[0].trace_id) if lines else []

    return await eventually(find, timeout=60, until=lambda found: len(found) >= length)


def _is_joined(spans: Sequence[Span], names: dict[str, str]) -> None:
    shown = {(span.service, span.type, span.operation, span.layer, span.component) for span in spans}
    orders, stock, audit = names["orders"], names["stock"], names["audit"]
    assert shown == {
        (orders, "Entry", "GET:/orders/{item}", "Http", "FastAPI"),
        (orders, "Exit", "PostgreSQL/SQLAlchemy/execute", "Database", "AsyncPG"),
        (orders, "Exit", "Redis/INCRBY", "Cache", "Redis"),
        (orders, "Exit", "/stock/lamp", "Http", "HTTPX"),
        (stock, "Entry", "GET:/stock/<item>", "Http", "Flask"),
        (orders, "Exit", "Kafka/orders/Producer", "MQ", "kafka-producer"),
        (audit, "Entry", "Kafka/orders/Consumer/audit", "MQ", "kafka-consumer"),
        (audit, "Exit", "Redis/INCRBY", "Cache", "Redis"),
    }
    assert not any(span.is_error for span in spans)
    by_type = {(span.service, span.operation): span for span in spans}
    for caller, called in (
        (by_type[orders, "/stock/lamp"], by_type[stock, "GET:/stock/<item>"]),
        (by_type[orders, "Kafka/orders/Producer"], by_type[audit, "Kafka/orders/Consumer/audit"]),
    ):
        assert [(ref.segment_id, ref.span_id) for ref in called.refs] == [(caller.segment_id, caller.span_id)]


async def _is_drawn(query: OapQuery, names: dict[str, str]) -> None:
    """The map of services shows the database, the cache and the queue as what they are."""

    async def kinds() -> set[str]:
        nodes = await query.map_of(names["orders"])
        return {node["type"] for node in nodes}

    await eventually(kinds, timeout=60, until=lambda found: found >= {"PostgreSQL", "Redis", "Kafka", "FastAPI"})


@contextmanager
def _serve(command: Sequence[str], environ: dict[str, str]) -> Iterator[None]:
    aware = [sys.executable, "-m", "swagent", "run", "--", sys.executable, *command]
    with running(aware, APPLICATIONS, environ):
        yield
