"""Under real servers: requests are served, their traces arrive, and the end comes in time, whatever ends it."""

from __future__ import annotations

import re
import signal
import socket
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

import anyio
import pytest

from asgi.serving import SERVERS, arrived, ask, ask_until_it_ends, launch, open_stream, serve
from faults.covering import covers
from swagent.collector.server import Collector

pytestmark = pytest.mark.anyio

UVICORNS = [name for name in SERVERS if name.startswith("uvicorn")]
# The time that a server takes on a busy machine: uvicorn looks for signals every 0.1 s, hypercorn ends its worker's
# process. The agent's own deadlines are far beyond it.
PROMPT = 8.0


def proving(fault: str, kinds: Iterable[str]) -> list[Any]:
    """Kinds of servers as parameters that prove a row's cells, each that of its loop."""
    return [pytest.param(kind, marks=covers(fault, "grpc", kind.rpartition("-")[2])) for kind in kinds]


@pytest.fixture
def anyio_backend() -> str:
    """The collector's and the clients'; each server has a loop of its own."""
    return "asyncio"


@pytest.fixture
async def collector() -> AsyncIterator[Collector]:
    async with Collector() as running:
        yield running


@pytest.fixture
def silence() -> Iterator[str]:
    """The address of a collector that takes connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def dead_address() -> Iterator[str]:
    """An address where nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


def assert_no_error_of_ours(output: str) -> None:
    """uvicorn shows where it cut a request off. In that stack, between server and application, are the middleware, by
    which the first request comes in two steps, and the code that times a request and lists its tasks."""
    ours = set(re.findall(r'/swagent/([\w/]+\.py)", line \d+, in (\w+)', output))
    middleware = {("asgi/middleware.py", "__call__"), ("asgi/middleware.py", "_pass_on")}
    steps = {("profile/timed_steps.py", name) for name in ("__next__", "send", "throw")}
    timing = {*steps, ("profile/request_tasks.py", "noted")}
    assert ours <= middleware | timing, output
    assert "swagent." not in output, "a warning or an error in the log"


@pytest.mark.parametrize("kind", proving("P01", SERVERS))
async def test_traces_arrive_complete_and_an_idle_server_ends_at_once(kind: str, collector: Collector) -> None:
    async with serve(kind, collector=collector.address) as server:
        ids = await ask(server, 20)
        await collector.store.wait_for(lambda store: arrived(store) >= ids)
        assert await server.end() < PROMPT
        assert "Traceback" not in server.output
    segments = collector.store.segments
    assert len(ids) == len(segments) == 20
    assert {segment.service for segment in segments} == {"shop"}
    assert len({segment.instance for segment in segments}) == 1
    for segment in segments:
        entry, local = sorted(segment.spans, key=lambda span: span.span_id)
        assert (entry.operation, entry.kind, local.operation) == ("GET:/items/{id}", "Entry", "look")
        assert dict(entry.tags)["http.status_code"] == "200"
    [instance] = collector.store.instances
    assert ("language", "python") in instance.properties


@pytest.mark.slow
@pytest.mark.parametrize("kind", proving("P01", SERVERS))
async def test_under_load_every_answered_request_has_arrived_at_the_end(kind: str, collector: Collector) -> None:
    answered: set[str] = set()
    enough = anyio.Event()
    async with serve(kind, collector=collector.address) as server:
        async with anyio.create_task_group() as clients:
            for _ in range(8):
                clients.start_soon(ask_until_it_ends, server, answered, enough)
            await enough.wait()
            assert await server.end() < 2 * PROMPT
        assert "Traceback" not in server.output
    assert len(answered) > 100
    assert answered <= arrived(collector.store)
    assert collector.store.statistics().duplicates == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", proving("P01", [*UVICORNS, "hypercorn-asyncio", "hypercorn-trio"]))
async def test_an_open_stream_holds_the_server_up_but_not_what_was_answered(kind: str, collector: Collector) -> None:
    async with serve(kind, collector=collector.address) as server:
        async with open_stream(server) as streamed:
            ids = await ask(server, 5)
            server.process.send_signal(signal.SIGTERM)
            if kind in UVICORNS:
                await server.wait_printed("Waiting for connections to close")
            await collector.store.wait_for(lambda store: arrived(store) >= ids)
            if kind not in UVICORNS:
                await server.wait_ended()
                return
            assert streamed not in arrived(collector.store)
        await server.wait_ended()
    [stream] = collector.store.trace(streamed)
    assert stream.spans[0].operation == "GET:/stream"
    assert not stream.spans[0].is_error, "the client hung up"


@pytest.mark.slow
@pytest.mark.parametrize("kind", proving("P01", UVICORNS))
async def test_an_open_stream_that_uvicorn_cuts_is_recorded_as_well(kind: str, collector: Collector) -> None:
    options = ["--timeout-graceful-shutdown", "1"]
    async with serve(kind, *options, collector=collector.address) as server, open_stream(server) as streamed:
        ids = await ask(server, 5)
        assert await server.end() < 1 + PROMPT
        assert arrived(collector.store) >= ids
        [stream] = collector.store.trace(streamed)
    assert not stream.spans[0].is_error


@pytest.mark.slow
@pytest.mark.parametrize("kind", proving("P02", UVICORNS))
# at once, a signal that is still pending would swallow the next
@pytest.mark.parametrize("said", ["Waiting for connections to close", "Shutting down"], ids=["later", "at once"])
async def test_interrupted_twice_what_was_answered_arrives(kind: str, said: str, collector: Collector) -> None:
    async with serve(kind, collector=collector.address) as server, open_stream(server):
        ids = await ask(server, 5)
        server.process.send_signal(signal.SIGINT)
        await server.wait_printed(said)
        assert await server.end(signal.SIGINT) < PROMPT
        assert_no_error_of_ours(server.output)
    assert arrived(collector.store) >= ids


@pytest.mark.slow
async def test_without_lifespan_the_agent_thread_reports(collector: Collector) -> None:
    async with serve("uvicorn-uvloop", "--lifespan", "off", collector=collector.address) as server:
        ids = await ask(server, 5)
        await collector.store.wait_for(lambda store: arrived(store) >= ids)
        later = await ask(server, 5)
        assert await server.end(signal.SIGINT) < PROMPT
        assert_no_error_of_ours(server.output)
    assert arrived(collector.store) == ids | later


@pytest.mark.slow
@covers("P04", "grpc", "asyncio")
async def test_every_worker_is_an_instance_of_its_own(collector: Collector) -> None:
    # a worker that does not answer its parent in time is killed, and 5 s are too little for one that starts
    options = ["--workers", "2", "--timeout-worker-healthcheck", "20"]
    async with serve("uvicorn-asyncio", *options, collector=collector.address) as server:
        await collector.store.wait_for(lambda store: len(store.instances) == 2, timeout=20)
        ids = await ask(server, 10)
        assert await server.end() < PROMPT + 2
    first, second = collector.store.instances
    assert first.instance != second.instance
    assert dict(first.properties)["Process No."] != dict(second.properties)["Process No."]
    assert arrived(collector.store) == ids


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["uvicorn-asyncio", "uvicorn-uvloop", "hypercorn-trio"])
async def test_a_dead_or_silent_collector_holds_nothing_up(kind: str, dead_address: str, silence: str) -> None:
    """The end no longer than the deadline."""
    for address in (dead_address, silence):
        async with serve(kind, collector=address, environ={"SW_AGENT_SHUTDOWN_TIMEOUT": "0.5"}) as server:
            assert len(await ask(server, 20)) == 20
            assert await server.end() < 0.5 + 0.5 + PROMPT
            assert "Traceback" not in server.output


@pytest.mark.slow
@pytest.mark.parametrize("kind", SERVERS)
async def test_a_wrong_setting_ends_the_server_by_a_clear_line(kind: str, dead_address: str) -> None:
    async with launch(kind, collector=dead_address, environ={"SW_AGENT_SHUTDOWN_TIMEOUT": "soon"}) as server:
        await server.wait_printed("SW_AGENT_SHUTDOWN_TIMEOUT='soon' cannot be used; allowed: a number from 0 to 300")
        status = await server.wait_ended()
        assert status or kind not in UVICORNS, "hypercorn always ends with 0 here"
        assert "startup complete" not in server.output
