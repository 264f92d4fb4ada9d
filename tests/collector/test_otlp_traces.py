"""One trace of services with this agent and services with OpenTelemetry's SDK, joined at one collector."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from opentelemetry.context import Context
from opentelemetry.trace import SpanKind
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from collector.otlp_neighbours import WAYS, collecting, tracing
from swagent import Agent, Config, Layer, entry_span, exit_span
from swagent.collector.api.calls import service_map
from swagent.collector.api.trace import trace
from swagent.collector.server import Collector

pytestmark = pytest.mark.anyio
_W3C = TraceContextTextMapPropagator()


def neighbour(tracer: Any, headers: Mapping[str, str]) -> dict[str, str]:
    """A service with the SDK: it is called, works, and calls on; the headers of that call."""
    outgoing: dict[str, str] = {}
    context = _W3C.extract(headers, Context())
    with (
        tracer.start_as_current_span("GET /stock", context=context, kind=SpanKind.SERVER),
        tracer.start_as_current_span("compute"),
        tracer.start_as_current_span("GET /price", kind=SpanKind.CLIENT, attributes={"server.address": "price"}),
    ):
        _W3C.inject(outgoing)
    return outgoing


def chain_of(collector: Collector, trace_id: str) -> list[tuple[str, str]]:
    """The services and operations of a trace, each the parent of the next."""
    answer = trace(collector.store, trace_id)
    assert answer is not None
    spans = answer["spans"]
    assert [each["parent"] for each in spans] == [None, *(each["id"] for each in spans[:-1])]
    assert not any(each["missing_parent"] for each in spans)
    return [(each["service"], each["operation"]) for each in spans]


@pytest.mark.parametrize("has_state", [True, False], ids=["with tracestate", "without"])
@pytest.mark.parametrize("way", WAYS)
async def test_a_neighbour_is_in_the_middle_of_a_trace(way: str, has_state: bool) -> None:
    """Without `tracestate` a caller of ours is found by the id that is folded from its place."""
    with collecting() as collector:
        config = Config(service="shop", collector=collector.address)
        async with Agent(config) as agent:
            with tracing(collector, "stock", way) as tracer:
                with entry_span("GET:/orders"), exit_span("/stock", peer="stock:80") as call:
                    headers = call.headers()
                if not has_state:
                    del headers["tracestate"]
                assert call.trace_id is not None
                onward = neighbour(tracer, headers)
            # called by the neighbour, which knows nothing of `sw8`
            with entry_span("GET:/price", traceparent=onward["traceparent"], layer=Layer.HTTP):
                pass
            assert await agent.flush(30)
        assert chain_of(collector, call.trace_id) == [
            ("shop", "GET:/orders"),
            ("shop", "/stock"),
            ("stock", "GET /stock"),
            ("stock", "compute"),
            ("stock", "GET /price"),
            ("shop", "GET:/price"),
        ]
        edges = {(each["from"], each["to"]) for each in service_map(collector.store)["edges"]}
    assert ("stock", "shop") in edges, "who calls is known by the caller's span"
    if has_state:
        assert edges == {("User", "shop"), ("shop", "stock"), ("stock", "shop")}


async def test_a_caller_that_reports_elsewhere_is_not_missed() -> None:
    with collecting() as collector:
        async with Agent(Config(service="shop", collector=collector.address)) as agent:
            with entry_span("GET:/price", traceparent=f"00-{'ab' * 16}-{'cd' * 8}-01"):
                pass
            assert await agent.flush(30)
        assert chain_of(collector, "ab" * 16) == [("shop", "GET:/price")]


@pytest.mark.parametrize("protocol", ["otlp", "otlp-http"])
async def test_agents_that_report_by_otlp_are_joined_as_all_others(protocol: str) -> None:
    with collecting() as collector:
        address = collector.address if protocol == "otlp" else collector.http_address
        ours = {"service": "shop", "collector": address, "protocol": protocol}
        async with Agent(Config(**ours)) as agent:  # type: ignore[arg-type]
            with entry_span("GET:/orders"), exit_span("/stock", peer="stock:80") as call:
                headers = call.headers()
            with tracing(collector, "stock") as tracer:
                neighbour(tracer, headers)
            assert await agent.flush(30)
            statistics = agent.statistics()
            assert (statistics.segment.confirmed, statistics.segment.dropped) == (1, {})
        assert call.trace_id is not None
        assert chain_of(collector, call.trace_id)[:3] == [
            ("shop", "GET:/orders"),
            ("shop", "/stock"),
            ("stock", "GET /stock"),
        ]
