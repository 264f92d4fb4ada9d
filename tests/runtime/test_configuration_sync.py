"""Settings that a collector changes over gRPC arrive on every loop, and over every new connection."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from asgi.calling import SEGMENTS_ONLY, call, http_scope
from asgi.calling import answers as responds
from kit import answers
from kit.h2_peer import Call, H2Peer, message
from swagent import Agent, Config
from swagent.abc import Command as Given
from swagent.abc import Instance
from swagent.asgi import SkyWalkingMiddleware
from swagent.testing import MemoryCollector
from swagent_proto.messages import Command, Commands, ConfigurationSyncRequest, KeyStringValuePair

pytestmark = pytest.mark.anyio
DEADLINE = 30.0
SAMPLED = "agent.sample_n_per_3_secs"
REQUESTS = 40


class Collector:
    """Has settings, and says them to those who have others, as OAP does."""

    def __init__(self) -> None:
        self.settings: dict[str, str] = {}
        self.uuid = "none"
        self.asked: list[ConfigurationSyncRequest] = []
        self.raw: bytes | None = None
        self.segments = 0

    async def __call__(self, call: Call) -> None:
        path = call.headers[b":path"]
        if path.endswith(b"/fetchConfigurations"):
            await answers.reply(message(self._answer(ConfigurationSyncRequest().parse(call.messages[0]))))(call)
            return
        if b"TraceSegment" in path:
            self.segments += len(call.messages)
        await answers.confirm(call)

    def _answer(self, request: ConfigurationSyncRequest) -> bytes:
        self.asked.append(request)
        if self.raw is not None:
            return self.raw
        if request.uuid == self.uuid:
            return b""
        given = {"SerialNumber": "s", "UUID": self.uuid, **self.settings}
        command = Command("ConfigurationDiscoveryCommand", [KeyStringValuePair(*each) for each in given.items()])
        return bytes(Commands([command]))

    async def set(self, uuid: str, **settings: str) -> None:
        """Change the settings, and wait until an agent says that it has them."""
        self.uuid, self.settings = uuid, settings
        await until(lambda: self.asked and self.asked[-1].uuid == uuid)


async def until(condition: Callable[[], object]) -> None:
    with anyio.fail_after(DEADLINE):
        while not condition():  # noqa: ASYNC110  (it comes by the agent's loop)
            await anyio.sleep(0.01)


@pytest.fixture
def collector() -> Collector:
    return Collector()


@pytest.fixture
def peer(collector: Collector) -> Iterator[H2Peer]:
    with H2Peer(collector) as peer:
        yield peer


@asynccontextmanager
async def shop_at(peer: H2Peer, **settings: Any) -> AsyncGenerator[Callable[[], Any]]:
    """A shop whose agent reports there: serves requests, and sees them arrive."""
    given = {**SEGMENTS_ONLY, "service": "shop", "get_agent_dynamic_config_interval": 0.05, **settings}
    async with Agent(Config(collector=peer.address, **given)) as agent:
        app = SkyWalkingMiddleware(responds(), agent=agent)

        async def serve() -> None:
            for _ in range(REQUESTS):
                await call(app, http_scope("/"))
            with anyio.fail_after(DEADLINE):
                while not await agent.flush():
                    pass

        yield serve


@pytest.mark.gate
async def test_sampling_follows_the_collector_over_every_new_connection(
    collector: Collector, peer: H2Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("swagent.agent.JITTER.random", lambda: 0.01)  # it comes back soon
    async with shop_at(peer) as serve:
        await collector.set("start")
        await serve()
        assert collector.segments == REQUESTS
        for turn in range(2):
            await collector.set(f"few-{turn}", **{SAMPLED: "1"})
            before = collector.segments
            await serve()
            # one in three seconds, of which a busy machine may take several
            assert 1 <= collector.segments - before < REQUESTS
            await peer.thread.call(peer.stop)
            await peer.thread.call(peer.start)
            collector.asked.clear()
            await until(lambda: collector.asked)
            assert collector.asked[0].uuid == f"few-{turn}", "what it has is not said to it again"
            await collector.set(f"all-{turn}")
            before = collector.segments
            await serve()
            assert collector.segments - before == REQUESTS
    assert {each.service for each in collector.asked} == {"shop"}
    assert collector.segments


@pytest.mark.one_loop
@pytest.mark.parametrize("raw", [b"\xff" * 20, b"\x0a\x00" * 129, bytes(9000), b"\x0a\x03\x0a\x01\xff"])
async def test_an_answer_that_cannot_be_read_changes_nothing(collector: Collector, peer: H2Peer, raw: bytes) -> None:
    async with shop_at(peer) as serve:
        await collector.set("few", **{SAMPLED: "1"})
        collector.raw = raw
        asked = len(collector.asked)
        await until(lambda: len(collector.asked) >= asked + 3)
        assert {each.uuid for each in collector.asked[asked:]} == {"few"}
        before = collector.segments
        await serve()
        assert collector.segments - before < REQUESTS
        collector.raw = None
        await collector.set("all")
        before = collector.segments
        await serve()
        assert collector.segments - before == REQUESTS


@pytest.mark.one_loop
async def test_a_collector_without_the_service_is_left_alone(peer: H2Peer) -> None:
    async def refuse(call: Call) -> None:
        is_asked = call.headers[b":path"].endswith(b"/fetchConfigurations")
        await (answers.trailers_only(12) if is_asked else answers.confirm)(call)

    peer.behave = refuse
    async with shop_at(peer) as serve:
        await until(lambda: any(b"fetchConfigurations" in each.headers[b":path"] for each in peer.calls))
        await serve()
        await serve()
    assert sum(b"fetchConfigurations" in each.headers[b":path"] for each in peer.calls) == 1


@pytest.mark.one_loop
async def test_no_poll_where_it_is_off_or_the_transport_brings_none() -> None:
    asked: list[str] = []
    collector = MemoryCollector()

    class Asking(collector.transport):  # type: ignore[misc, name-defined]
        async def configuration_commands(self, instance: Instance, uuid: str) -> list[Given]:
            asked.append(uuid)
            return []

    for transport, interval, is_asked in ((Asking, 0.05, True), (Asking, 0, False), (collector.transport, 0.05, False)):
        config = Config(service="shop", get_agent_dynamic_config_interval=interval, **SEGMENTS_ONLY)
        async with Agent(config, transport=transport) as agent:
            assert (agent._tasks._configuration_sync is not None) == is_asked
            if is_asked:
                await until(lambda: asked)
        assert bool(asked) == is_asked
        asked.clear()
