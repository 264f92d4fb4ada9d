"""The answers that the page's tests make up have the shape of the server's own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from collector.answers import check
from page.answers import Answers
from page.stand_in import MADE_UP, StandIn


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    answers = Answers(300)
    with TestClient(StandIn(answers)._app(), base_url="http://127.0.0.1") as made:
        yield made
    answers.close()


def addresses(client: TestClient) -> dict[str, str]:
    """An address for each path that has parameters."""
    trace = client.get("/api/traces").json()["traces"][0]
    meter = client.get("/api/meters").json()["meters"][0]
    process = f"service={meter['service']}&instance={meter['instance']}"
    return {
        "/api/traces/{trace:path}/findings": f"/api/traces/{trace['trace_id']}/findings",
        "/api/profiles/{task:path}": "/api/profiles/profiled",
        "/api/meters/series": f"/api/meters/series?{process}&name={meter['name']}",
        "/api/process": f"/api/process?{process}",
        "/api/losses": f"/api/losses?from={trace['start']}",
    }


@pytest.mark.parametrize("path", MADE_UP)
def test_made_up_answer(client: TestClient, path: str) -> None:
    address = addresses(client).get(path, path)
    answer = client.get(address)
    assert answer.status_code == 200, answer.text
    check(address.partition("?")[0], answer.content)
