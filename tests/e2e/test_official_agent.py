"""The official Python agent reports to the embedded collector, and its trace is there complete."""

from __future__ import annotations

import anyio.to_thread
import httpx
import pytest

from e2e.official_agent import official_app
from kit.real.ports import free_ports
from swagent.collector.server import Collector
from swagent.collector.store.store import Store

pytestmark = pytest.mark.anyio


def is_complete(protocol: str, store: Store) -> bool:
    # over HTTP the official agent sends no meters
    meters = protocol == "http" or any(meter.name.startswith("instance_pvm_") for meter in store.meters)
    beats = any(instance.keep_alives and instance.properties for instance in store.instances)
    return len(store.segments) >= 3 and bool(store.logs) and beats and meters


@pytest.mark.parametrize("protocol", ["grpc", "http"])
async def test_its_trace_arrives_complete(protocol: str) -> None:
    (port,) = free_ports(1)
    async with Collector(http_port=0, page_port=0) as collector:
        address = collector.address if protocol == "grpc" else collector.http_address
        app = official_app(protocol, address, port)
        await anyio.to_thread.run_sync(app.__enter__)  # the collector in this loop has to answer meanwhile
        try:
            async with httpx.AsyncClient(trust_env=False, timeout=20) as client:
                assert (await client.get(f"http://127.0.0.1:{port}/orders/lamp")).json() == 3
                assert (await client.get(f"http://127.0.0.1:{port}/stock/umbrella")).status_code == 500
                await collector.store.wait_for(lambda store: is_complete(protocol, store), timeout=60)
                api = f"http://{collector.page_address}/api"
                traces = (await client.get(f"{api}/traces")).json()["traces"]
                failed, whole = [(await client.get(f"{api}/traces/{each['trace_id']}")).json() for each in traces]
        finally:
            await anyio.to_thread.run_sync(app.__exit__, None, None, None)
    assert [(span["kind"], span["operation"], span["component"], span["depth"]) for span in whole["spans"]] == [
        ("entry", "/orders/lamp", "FastAPI", 0),
        ("exit", "/stock/lamp", "Requests", 1),
        ("entry", "/stock/lamp", "FastAPI", 2),
    ]
    assert not any(span["missing_parent"] or span["error"] for span in whole["spans"])
    assert ["http.status_code", "200"] in whole["spans"][0]["tags"]
    [line] = whole["logs"]
    assert ("an order of lamp" in line["text"], line["level"]) == (True, "WARNING")
    [span] = failed["spans"]
    assert (span["operation"], span["error"]) == ("/stock/umbrella", True)
    [instance] = collector.store.instances
    assert (instance.service, instance.instance) == ("official", "official-1")
    assert dict(instance.properties)["language"] == "python"
