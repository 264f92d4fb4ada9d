"""Every Python delivers: over each transport and on each event loop a segment, a log record and a meter reach a
collector in another process, and the ledger says so. Needed: pytest, pytest-timeout and `swagent[all]`.

What a Python cannot have is left out by that Python's name. What is missing without such a reason fails.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from delivery.collecting import RemoteCollector, broker, collecting
from delivery.starts import INNER, LOOPS, MESSAGE, METER, OPERATION, STARTS
from swagent import Config
from swagent.ledger import Statistics

IS_PYPY = platform.python_implementation() == "PyPy"
# as pyproject.toml has it
UNAVAILABLE: dict[str, str] = {
    **({"uvloop": "uvloop does not run on PyPy"} if IS_PYPY else {}),
    **({"kafka": "aiokafka has no wheel for this Python"} if IS_PYPY or sys.version_info >= (3, 15) else {}),
}


def one_of(names: Any) -> list[Any]:
    """The names as parameters of a test."""
    left_out = {name: pytest.mark.skip(reason=reason) for name, reason in UNAVAILABLE.items()}
    return [pytest.param(name, marks=left_out.get(name, ())) for name in names]


@pytest.fixture(scope="module")
def collector() -> Iterator[RemoteCollector]:
    with collecting() as running:
        yield running


@pytest.fixture(scope="module")
def kafka_collector() -> Iterator[RemoteCollector]:
    with broker() as address, collecting(address) as running:
        yield running


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("loop", one_of(LOOPS))
@pytest.mark.parametrize("transport", one_of(("grpc", "http", "kafka", "otlp", "otlp-http")))
def test_delivers(request: pytest.FixtureRequest, transport: str, loop: str, start: str) -> None:
    collector: RemoteCollector = request.getfixturevalue("kafka_collector" if transport == "kafka" else "collector")
    service, has_meters = f"{transport}-{loop}-{start}", transport != "http"
    address: Any = collector.addresses[{"otlp": "grpc", "otlp-http": "http"}.get(transport, transport)]
    where = {"kafka_bootstrap_servers" if transport == "kafka" else "collector": address}
    check_ledger(STARTS[start](Config(service=service, protocol=transport, **where), loop), has_meters)
    expected = {
        "spans": [(OPERATION, "entry"), (INNER, "local")],
        "logs": [("WARNING", MESSAGE)],
        "is_under_trace": True,
        "meters": [METER] if has_meters else [],
    }
    collector.wait_for(lambda: what_arrived(collector, service) == expected)
    assert what_arrived(collector, service) == expected


def check_ledger(statistics: Statistics, has_meters: bool) -> None:
    """Everything was confirmed: what was recorded, the last report of the meters, and what the agent says of itself."""
    assert statistics.complete, statistics
    assert statistics.balanced, statistics
    assert tuple(statistics.losses) == (0, 0, 0), statistics
    confirmed = {each.signal.value: each.confirmed for each in statistics}
    assert confirmed == {**confirmed, "segment": 1, "log": 1, "meter": int(has_meters)}
    assert has_meters or statistics.meter.state == "off: http carries no meters"


def what_arrived(collector: RemoteCollector, service: str) -> dict[str, Any]:
    """The collector's view of a service."""
    ids = [each["trace_id"] for each in collector.ask("traces", service=service)["traces"]]
    traces = [collector.ask(f"traces/{each}") for each in ids]
    logs = collector.ask("logs", service=service)["logs"]
    meters = [each["name"] for each in collector.ask("meters", service=service)["meters"]]
    return {
        "spans": [(span["operation"], span["kind"]) for trace in traces for span in trace["spans"]],
        "logs": [(line["level"], line["text"].rpartition(" - ")[2]) for line in logs],
        "is_under_trace": [line["trace_id"] for line in logs] == ids,
        "meters": [name for name in meters if name == METER],
    }
