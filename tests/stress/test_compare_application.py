"""The compared application counts what it did, whoever watches it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
import pytest

from stress.compare.contestants import CONTESTANTS

_SERVED = Path(import_module("stress.compare").__path__[0]) / "served"


@pytest.fixture
def handlers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module, found as a server finds it."""
    monkeypatch.syspath_prepend(str(_SERVED))
    monkeypatch.setenv("COMPARED_UPSTREAM", "http://upstream/")
    yield import_module("handlers")
    del sys.modules["handlers"]


async def test_the_counts_are_of_handlers_that_ended_of_logs_and_of_questions(
    handlers: Any, anyio_backend: str, caplog: pytest.LogCaptureFixture
) -> None:
    del anyio_backend
    opened, called = [], []

    @contextmanager
    def local_span(name: str) -> Iterator[None]:
        opened.append(name)
        yield

    async def fetch(_: httpx.AsyncClient, url: str) -> None:
        called.append(url)

    transport = httpx.ASGITransport(handlers.build(local_span, fetch))
    async with httpx.AsyncClient(transport=transport, base_url="http://app") as client:
        for path in ("trivial", "await", "await", "call", "spans"):
            assert (await client.get(f"/{path}")).json() == {"ok": True}
        await client.get("/counts")
        counts = (await client.get("/counts")).json()
    assert counts == {"began": 5, "ended": 5, "logged": 2, "asked": 2}
    assert called == ["http://upstream/"]
    assert len(opened) == handlers.LOCAL_SPANS
    assert [each.getMessage() for each in caplog.records if each.name == "compared"] == ["waited"] * 2


def test_a_contestant_gets_the_settings_that_its_name_says_and_else_its_defaults() -> None:
    said = {name: dict(each.settings("here:1")) for name, each in CONTESTANTS.items()}
    assert said["bare"] == {}
    assert said["swagent-kafka"] == {
        "SW_AGENT_NAME": "compared",
        "SW_AGENT_PROTOCOL": "kafka",
        "SW_KAFKA_BOOTSTRAP_SERVERS": "here:1",
    }
    assert said["swagent-grpc-freeze"] == said["swagent-grpc"] | {"SW_AGENT_GC_FREEZE": "true"}
    assert said["official-async-http"] == {
        "SW_AGENT_NAME": "compared",
        "SW_AGENT_PROTOCOL": "http",
        "SW_AGENT_COLLECTOR_BACKEND_SERVICES": "here:1",
        "SW_AGENT_ASYNCIO_ENHANCEMENT": "true",
    }
    assert said["otel-grpc"]["OTEL_EXPORTER_OTLP_ENDPOINT"] == "http://here:1"


def test_each_loop_has_its_server_and_its_own_bare_application() -> None:
    trio = CONTESTANTS["swagent-grpc-trio"]
    assert trio.command(80, Path("python"))[:2] == ["hypercorn", "applications:swagent()"]
    assert trio.command(80, Path("python"))[-2:] == ["-k", "trio"]
    assert CONTESTANTS["swagent-grpc-asyncio"].command(80, Path("python"))[-2:] == ["--loop", "asyncio"]
    assert {each.bare for each in CONTESTANTS.values()} <= set(CONTESTANTS)
