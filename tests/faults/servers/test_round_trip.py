"""One trace of two segments, from an agent on each transport and event loop: what a real OAP shows is what was said."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from e2e import samples
from e2e.answers import Span
from e2e.graphql import OapQuery, eventually
from faults.covering import each_cell
from faults.driving import Fleet
from faults.matrix import BY_ID, Cell
from kit.real.kafka import Kafka
from kit.real.oap import Oap

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def traces(kafka: Kafka, kafka_oap: Oap) -> Iterator[dict[Cell, list[Span]]]:
    """The spans that OAP shows of each cell's trace."""
    where = {"grpc": kafka_oap.grpc_address, "http": kafka_oap.http_address, "kafka": ""}

    def settings(cell: Cell) -> dict[str, Any]:
        transport, _ = cell
        collector = {"collector": where[transport]} if where[transport] else {}
        broker = {"kafka_bootstrap_servers": [kafka.address]}
        names = {"service": samples.unique("-".join(cell)), "instance": "one@host", "protocol": transport}
        return {"settings": {**names, **collector, **broker}}

    with Fleet(BY_ID["D05"].cells()) as fleet:
        fleet.ask(do="start", of=settings)
        sampled = fleet.ask(do="sample")
        fleet.ask(do="wait", what="settled", within=20)
        fleet.ask(do="stop")
        yield anyio.run(_read, kafka_oap, {cell: answer["trace_id"] for cell, answer in sampled.items()})


async def _read(oap: Oap, trace_ids: dict[Cell, str]) -> dict[Cell, list[Span]]:
    found: dict[Cell, list[Span]] = {}
    async with OapQuery(oap.http_address) as query:
        for cell, trace_id in trace_ids.items():

            async def look(trace_id: str = trace_id) -> list[Span]:
                return await query.trace(trace_id)

            spans = await eventually(look, until=lambda spans: len(spans) == 3)
            found[cell] = sorted(spans, key=lambda span: (span.operation.startswith("GET:/stock/"), span.span_id))
    return found


@each_cell("D05", backend_name="backend")
def test_the_tree_and_its_references(traces: dict[Cell, list[Span]], transport: str, backend: str) -> None:
    entry, out, served = traces[transport, backend]
    assert [(span.operation, span.type, span.span_id, span.parent_span_id) for span in (entry, out, served)] == [
        ("GET:/orders/{item}", "Entry", 0, -1),
        ("GET:/stock", "Exit", 1, 0),
        ("GET:/stock/{item}", "Entry", 0, -1),
    ]
    assert entry.segment_id == out.segment_id != served.segment_id
    (ref,) = served.refs
    assert (ref.segment_id, ref.span_id, ref.type) == (out.segment_id, out.span_id, "CROSS_PROCESS")
    assert entry.refs == out.refs == ()
    assert all(span.service.startswith(f"{transport}-{backend}-") for span in (entry, out, served))
    assert {span.instance for span in (entry, out, served)} == {"one@host"}


@each_cell("D05", backend_name="backend")
def test_the_spans_carry_their_facts(traces: dict[Cell, list[Span]], transport: str, backend: str) -> None:
    entry, out, served = traces[transport, backend]
    assert entry.tags == {"http.method": "GET", "note": "grüß 🐍 \"'\\"}
    assert [(span.layer, span.component) for span in (entry, out)] == [("Http", "FastAPI"), ("Http", "HTTPX")]
    assert out.peer == "10.0.0.7:8080"
    assert [span.is_error for span in (entry, out, served)] == [False, False, True]
    assert served.logs[0].data["error.kind"] == "KeyError"
    assert served.logs[0].data["message"] == "'umbrella'"
    (sold,) = entry.logs
    assert {"event": "sold", "pieces": "3"}.items() <= sold.data.items()
    assert entry.start_time <= out.start_time <= served.start_time <= served.end_time <= out.end_time <= entry.end_time
    assert entry.start_time <= sold.time <= entry.end_time
