"""A profile task that is made at the real OAP is carried out, and the OAP's own analysis says why requests are slow."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx
import pytest

from e2e import documents
from e2e.graphql import OapQuery, RefusedError, eventually, service_id
from e2e.services import serving, wait_served
from kit.real.oap import Oap

pytestmark = pytest.mark.anyio
SERVERS: Mapping[str, tuple[str, ...]] = {
    "uvicorn-uvloop": ("uvicorn", "profiled_app:app", "--port", "{port}", "--loop", "uvloop"),
    "hypercorn-trio": ("hypercorn", "profiled_app:app", "--bind", "127.0.0.1:{port}", "--worker-class", "trio"),
}
ENDPOINT = "GET:/orders/{item}"
SECONDS = 2.5
PERIOD = 10


@asynccontextmanager
async def _client(address: str) -> AsyncIterator[httpx.AsyncClient]:
    await wait_served(f"http://{address}")
    async with httpx.AsyncClient(base_url=f"http://{address}", trust_env=False, timeout=30) as client:
        yield client


@pytest.mark.parametrize("server", ["uvicorn-uvloop", "hypercorn-trio"])
async def test_the_oap_shows_why_two_concurrent_requests_are_slow(server: str, oap: Oap, query: OapQuery) -> None:
    service = f"profiled-{server}-{uuid.uuid4().hex[:6]}"
    with serving(service, oap, *SERVERS[server], SW_AGENT_COLLECTOR_GET_PROFILE_TASK_INTERVAL="0.5") as address:
        async with _client(address) as client:
            task = await _begin_task(query, client, service, ENDPOINT, 2)
            async with anyio.create_task_group() as group:
                for item in ("lamp", "chair"):
                    group.start_soon(_order, client, item)
            await eventually(lambda: _operations(query, task), until=lambda found: "EXECUTION_FINISHED" in found)
            segments = await eventually(lambda: _segments(query, task), until=lambda found: len(found) == 2)
    # the OAP stores the last snapshots some seconds after the segments
    await eventually(lambda: _each_is_explained(query, segments))


async def _each_is_explained(query: OapQuery, segments: list[dict[str, Any]]) -> bool:
    """True: the analyses of both say why they took long. AssertionError: one does not, or not yet."""
    stacks = [await _analysed(query, segment) for segment in segments]
    lamp, chair = sorted(stacks, key=lambda found: not _sum(found, "ask_stock:"))
    # each says what the slow coroutine was and what it waited for, and nothing of the other one
    assert _sum(lamp, "profiled_app.ask_stock:") > 0
    assert _sum(lamp, "[awaiting stock/left stock:8002]") == pytest.approx(1000 * SECONDS, rel=0.4)
    assert not _sum(lamp, "ask_elsewhere:")
    assert _sum(chair, "profiled_app.ask_elsewhere:") > 0
    assert _sum(chair, "sleep]") == pytest.approx(1000 * SECONDS, rel=0.4)
    assert not _sum(chair, "ask_stock:")
    assert all(_sum(each, "profiled_app.compute_price:") > 0 for each in stacks)
    assert all(_sum(each, "[running]") > 0 for each in stacks)
    # together they lose nothing to each other
    together = await _analysed(query, *segments)
    assert _count(together, "[awaiting stock/left stock:8002]") == _count(lamp, "[awaiting stock/left stock:8002]")
    assert _count(together, "sleep]") == _count(chair, "sleep]")
    return True


async def _begin_task(query: OapQuery, client: httpx.AsyncClient, service: str, endpoint: str, samples: int) -> str:
    """Make a task, and wait until the agent carries it out."""
    # the service is known by a request
    await client.get("/orders/chair", params={"seconds": 0})
    await eventually(query.services, until=lambda found: service in {each.name for each in found})
    task = await _create_task(query, service, endpoint, samples)
    # it is made known to the agents some seconds later, and requests that begin from then on are sampled
    await eventually(lambda: _threads(client), until=lambda found: "swagent-profile" in found)
    assert "NOTIFIED" in await eventually(lambda: _operations(query, task))
    return task


async def _threads(client: httpx.AsyncClient) -> list[str]:
    """The names of the application's threads."""
    names: list[str] = (await client.get("/threads")).json()
    return names


async def _order(client: httpx.AsyncClient, item: str) -> None:
    assert (await client.get(f"/orders/{item}", params={"seconds": SECONDS})).status_code == 200


async def _create_task(query: OapQuery, service: str, endpoint: str, samples: int) -> str:
    # it ends with its last sample; on a busy machine the agent may hear of it after a minute
    request = {
        "serviceId": service_id(service), "endpointName": endpoint, "duration": 15, "minDurationThreshold": 0,
        "dumpPeriod": PERIOD, "maxSamplingCount": samples,
    }  # fmt: skip
    found = (await query.ask(documents.CREATE_PROFILE_TASK, request=request))["found"]
    assert not found["errorReason"], found
    return str(found["id"])


async def _operations(query: OapQuery, task: str) -> list[str]:
    return [each["operationType"] for each in (await query.ask(documents.PROFILE_TASK_LOGS, task=task))["found"]]


async def _segments(query: OapQuery, task: str) -> list[dict[str, Any]]:
    """The entry spans of the profiled segments."""
    try:
        found = (await query.ask(documents.PROFILED_SEGMENTS, task=task))["found"]
    except RefusedError:
        # while there are none, an OAP that keeps them in PostgreSQL asks it for none of a list, and fails
        return []
    return [next(span for span in each["spans"] if span["type"] == "Entry") for each in found]


async def _analysed(query: OapQuery, *segments: dict[str, Any]) -> list[dict[str, Any]]:
    queries = [
        {"segmentId": each["segmentId"], "timeRange": {"start": each["startTime"], "end": each["endTime"]}}
        for each in segments
    ]
    found = (await query.ask(documents.PROFILE_ANALYSIS, queries=queries))["found"]
    assert not found["tip"], found["tip"]
    return [element for tree in found["trees"] for element in tree["elements"]]


def _sum(elements: list[dict[str, Any]], text: str) -> int:
    """Milliseconds of all nodes with a text in their signature."""
    return sum(each["duration"] for each in elements if text in each["codeSignature"])


def _count(elements: list[dict[str, Any]], text: str) -> int:
    return sum(each["count"] for each in elements if text in each["codeSignature"])
