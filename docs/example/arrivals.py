"""The records that the demo's services left at its collector, and whether these are all."""

from __future__ import annotations

from collections.abc import Iterable

from launching import NEIGHBOUR
from swagent.collector.api.tree import join, walk
from swagent.collector.store.store import Store
from swagent.collector.store.trace_records import Segment
from swagent.collector.view import render

# the spans of each request's trace: a sofa has to come from the warehouse, umbrellas fail, the report holds the loop,
# and a delivery goes through the neighbour
REQUESTS = {
    "/orders/lamp": 8,
    "/orders/chair": 8,
    "/orders/sofa": 10,
    "/orders/umbrella": 8,
    "/report": 2,
    "/deliveries/desk": 6,
}
# the services of a delivery's trace, callers first
DELIVERY = ("shop", NEIGHBOUR, "stock")
# the shop warns that chairs and sofas are few, the stock that two shelves are empty; the shop complains about umbrellas
LOG_LINES = 5
METERS = ("instance_pvm_process_cpu_utilization", "instance_pvm_thread_active_count")


def is_complete(store: Store) -> bool:
    """Each request's trace has all of its spans, each span has its parent, and one trace goes through the neighbour."""
    found = [[node for node, _ in walk(join(segments))] for segments in _requests(store).values()]
    is_joined = not any(node.missing for nodes in found for node in nodes) and bool(delivery_trace(store))
    return is_joined and sorted(map(len, found)) == sorted(REQUESTS.values()) and len(store.logs) >= LOG_LINES


def find_undrained(store: Store, names: Iterable[str]) -> list[str]:
    """The services that did not report their end, which an agent does behind all other records."""
    ended = {service for service, _ in store.ended()}
    return [name for name in names if name not in ended]


def delivery_trace(store: Store) -> str:
    """The trace that the shop, the neighbour and the stock have in common; empty: there is none."""
    for trace_id, segments in _requests(store).items():
        roots = join(segments)
        entries = tuple(node.segment.service for node, _ in walk(roots) if node.span.kind == "Entry")
        if len(roots) == 1 and entries == DELIVERY:
            return trace_id
    return ""


def show(store: Store) -> None:
    """Print the traces with their log lines, and some meters."""
    print()
    for trace_id, segments in _requests(store).items():
        print(render(trace_id, segments))
        for line in store.logs:
            if line.trace_id == trace_id:
                print(f"    log   {line.service:<9} {line.content}")
        print()
    for meter in sorted(store.meters, key=lambda meter: (meter.service, meter.name)):
        if meter.name in METERS:
            print(f"    meter {meter.service:<9} {meter.name} = {meter.value:.6g}")


def _requests(store: Store) -> dict[str, list[Segment]]:
    """The traces that begin with a request, by their ids: what services do before the first one has traces as well."""
    traces = {trace_id: store.trace(trace_id) for trace_id in store.trace_ids}
    return {each: segments for each, segments in traces.items() if join(segments)[0].span.kind == "Entry"}
