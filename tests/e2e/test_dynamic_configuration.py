"""Sampling that is changed in the real OAP's dynamic configuration, at run time, changes what arrives."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest

from e2e.fixtures import make_oap
from e2e.graphql import OapQuery, eventually
from e2e.services import serving, wait_served
from kit.real.configuration_centre import ConfigurationCentre
from kit.real.oap import Oap

pytestmark = pytest.mark.anyio
SERVERS = {
    "uvicorn-uvloop": ("uvicorn", "configured_app:app", "--port", "{port}", "--loop", "uvloop"),
    "hypercorn-trio": ("hypercorn", "configured_app:app", "--bind", "127.0.0.1:{port}", "--worker-class", "trio"),
}
ITEM = "configuration-discovery.default.agentConfigurations"
REQUESTS = 30


@pytest.fixture(scope="module")
def centre() -> Iterator[ConfigurationCentre]:
    with ConfigurationCentre() as centre:
        yield centre


@pytest.fixture(scope="module")
def oap(centre: ConfigurationCentre) -> Iterator[Oap]:
    """An OAP with dynamic configuration."""
    with make_oap(configuration_port=centre.port) as server:
        yield server


@pytest.mark.parametrize("server", SERVERS)
async def test_sampling_follows_the_oap(
    server: str, oap: Oap, centre: ConfigurationCentre, query: OapQuery, tmp_path: Path
) -> None:
    service = f"configured-{server}-{uuid.uuid4().hex[:6]}"
    log = tmp_path / "log"

    async def followed(line: str) -> None:
        async def read() -> str:
            return log.read_text()

        await eventually(read, until=lambda said: line in said)

    interval = {"SW_AGENT_COLLECTOR_GET_AGENT_DYNAMIC_CONFIG_INTERVAL": "0.2"}
    with log.open("w") as errors, serving(service, oap, *SERVERS[server], errors=errors, **interval) as address:
        url = f"http://{address}"
        await wait_served(url)
        async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as client:
            await _request(client, "start")
            centre.set(ITEM, f"configurations:\n  {service}:\n    agent.sample_n_per_3_secs: 1\n    other.key: x\n")
            await followed("sample_n_per_3_secs is 1 now, as the collector sets it; it was 0")
            await _request(client, "few")
            centre.set(ITEM, "")
            await followed("sample_n_per_3_secs is 0 now, as at the start; it was 1")
            await _request(client, "all")
    for phase in ("start", "all"):
        await eventually(partial(_count, query, service, phase), until=lambda count: count == REQUESTS)
    # sent before the last, so they are there. One in three seconds, of which a busy machine may take several
    assert 1 <= await _count(query, service, "few") < REQUESTS


async def _request(client: httpx.AsyncClient, phase: str) -> None:
    for _ in range(REQUESTS):
        # a method of its own marks the requests of a phase
        assert (await client.request(METHODS[phase], "/orders/chair")).status_code == 200


METHODS = {"start": "PUT", "few": "PATCH", "all": "DELETE"}


async def _count(query: OapQuery, service: str, phase: str) -> int:
    tags = [{"key": "http.method", "value": METHODS[phase]}]
    return len(await query.traces(service, tags=tags))
