"""Whether a trace failed, and where its failure is counted: one rule for the list, the heatmap, the map, services."""

from __future__ import annotations

from dataclasses import replace

import pytest

from collector.made_traces import Did, Request, call, made, store_of
from collector.served import listed
from swagent.collector.api.calls import service_map, services
from swagent.collector.api.heatmap import heatmap
from swagent.collector.store import wire_pieces
from swagent.collector.store.segment_index import index, index_bytes
from swagent.collector.store.trace_records import Segment, Span
from swagent.collector.store.trace_translation import message_of


def _request(failed: bool, call_failed: bool = True) -> list[Segment]:
    """`front` asks `shop`, which fails."""
    shop = Request("shop", "GET:/pay", 10, 20, error=True)
    return made(Request("front", "GET:/order", 0, 30, [call(shop, error=call_failed)], error=failed))


def _late() -> list[Segment]:
    """A call fails that goes on after the response."""
    return made(Request("front", "GET:/order", 0, 30, [Did("push", 10, 90, "queue:80", error=True)]))


def _operation(tags: dict[str, str], operation: str = "query Order") -> list[Segment]:
    """A field of a GraphQL operation fails, and so the operation; its request has the status 200."""
    field = Did("SELECT", 5, 9, "db:5432", error=True)
    did = Did(operation, 2, 20, kind="Local", layer="Unknown", error=True, tags=tags, below=[field])
    return made(Request("front", "POST:/graphql", 0, 30, [did]))


def _in_time() -> list[Segment]:
    return made(Request("front", "GET:/order", 0, 30, [Did("EVALSHA", 10, 20, "cache:6379", error=True)]))


def _consumer() -> list[Segment]:
    """A message whose consumer fails."""
    shop, front = _request(failed=False, call_failed=False)
    return [front, replace(shop, spans=tuple(replace(span, layer="MQ") for span in shop.spans))]


CASES = [
    pytest.param(_request(failed=True), True, id="the entry"),
    pytest.param(_request(failed=False), False, id="a call that the entry survived"),
    pytest.param(_request(failed=False, call_failed=False), False, id="an answer that the caller does not mind"),
    pytest.param(_request(failed=True)[:1], True, id="an answer whose caller is not kept"),
    pytest.param(_late(), True, id="work after the response"),
    pytest.param(_in_time(), False, id="a call to a peer that was tried again"),
    pytest.param(_consumer(), True, id="a consumer"),
    pytest.param(_operation({"graphql.operation.type": "query"}), True, id="an operation of GraphQL"),
    pytest.param(_operation({}, "GraphQL/validate"), True, id="a document of GraphQL"),
    pytest.param(_operation({}), False, id="own work that the entry survived"),
    pytest.param(made(Request("front", "GET:/order", 0, 30)), False, id="nothing"),
]


@pytest.mark.parametrize(("segments", "expected"), CASES)
def test_the_list_the_heatmap_and_the_filter_agree(segments: list[Segment], expected: bool) -> None:
    store = store_of(segments)
    (row,) = listed(store)["traces"]
    (slowest,) = listed(store, "slowest")["traces"]
    assert row["failed"] == slowest["failed"] == listed(store, errors=True)["total"] == expected
    ((_, _, count, failed),) = heatmap(store, {})["cells"]
    assert (count, failed) == (1, expected)


def test_the_map_and_the_services_count_a_failure_where_it_began() -> None:
    store = store_of(_request(failed=True), _request(failed=False), _in_time())
    expected = {"front": (0, 1), "shop": (2, 0)}
    assert {each["name"]: (each["errors"], each["through"]) for each in services(store)["services"]} == expected
    found = service_map(store)
    nodes = {each["name"]: (each["errors"], each["through"]) for each in found["nodes"]}
    assert nodes == {**expected, "User": (0, 1), "cache:6379": (1, 0)}
    edges = {(each["from"], each["to"]): (each["errors"], each["error_rate"]) for each in found["edges"]}
    assert edges == {("User", "front"): (0, 0.0), ("front", "shop"): (2, 1.0), ("front", "cache:6379"): (1, 1.0)}


@pytest.mark.parametrize("failed", [True, False])
def test_a_large_segment_is_judged_by_its_pieces(monkeypatch: pytest.MonkeyPatch, failed: bool) -> None:
    head = Span(0, -1, 0, 9000, "/order", kind="Entry", is_error=failed)
    below = [Span(number, 0, 1, 2, "x" * 50, is_error=number == 30) for number in range(1, 300)]
    message = message_of(Segment("t", "s", "shop", "i", (*below, head)))
    data = message.SerializeToString()
    monkeypatch.setattr(wire_pieces, "PIECE", 500)
    assert len(list(wire_pieces.cut(data))) > 10
    assert index_bytes(data).row == index(message, data).row
