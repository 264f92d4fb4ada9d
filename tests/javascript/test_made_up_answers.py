"""The answers that the page's tests make up have the shape of the server's own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from collector.answers import check
from page.answers import Answers
from page.stand_in import StandIn
from swagent.collector.api.models import ANSWERS


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with TestClient(StandIn(Answers(300))._app(), base_url="http://127.0.0.1") as made:
        yield made


def addresses(client: TestClient) -> dict[str, str]:
    """An address for each path."""
    trace = client.get("/api/traces").json()["traces"][0]
    log = client.get("/api/logs").json()["logs"][0]
    group = client.get("/api/errors").json()["groups"][0]
    meter = client.get("/api/meters").json()["meters"][0]
    task = client.get("/api/profiles").json()["tasks"][0]
    process = f"service={meter['service']}&instance={meter['instance']}"
    endpoint = f"service={trace['service']}&endpoint={trace['endpoint']}"
    found = {
        "/api/traces/{trace:path}": f"/api/traces/{trace['trace_id']}",
        "/api/traces/{trace:path}/findings": f"/api/traces/{trace['trace_id']}/findings",
        "/api/logs/{number}": f"/api/logs/{log['id']}",
        "/api/errors/{group}": f"/api/errors/{group['id']}",
        "/api/profiles/{task:path}": f"/api/profiles/{task['id']}",
        "/api/services/{service:path}/endpoints": "/api/services/shop/endpoints",
        "/api/tags/{key:path}": "/api/tags/service:",
        "/api/meters/series": f"/api/meters/series?{process}&name={meter['name']}",
        "/api/process": f"/api/process?{process}",
        "/api/losses": f"/api/losses?from={trace['start']}",
        "/api/loop": f"/api/loop?trace_id={trace['trace_id']}",
        "/api/median": f"/api/median?{endpoint}",
        "/api/compare": f"/api/compare?at={trace['start']}",
        "/api/differences": f"/api/differences?box_from=0&box_to={trace['start']}&box_min_ms=0&box_max_ms=100",
    }
    return {path: found.get(path, path) for path in ANSWERS}


@pytest.mark.parametrize("path", ANSWERS)
def test_made_up_answer(client: TestClient, path: str) -> None:
    address = addresses(client)[path]
    answer = client.get(address)
    assert answer.status_code == 200, answer.text
    check(address.partition("?")[0], answer.content)
