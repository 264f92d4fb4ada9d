"""Under real servers: requests are served, their traces arrive, and the end comes in time, whatever ends it."""

from __future__ import annotations

import re
import signal
import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from typing import Any

import pytest

from faults.covering import covers
from kit.servers import collector_thread, dead_address
from servers.serving import PATIENCE, Served, served, wait_for
from swagent.collector.server import Collector

_UVICORN = "-m uvicorn asgi.served:app --port {port} --no-access-log --no-use-colors --loop"
_HYPERCORN = "-m hypercorn asgi.served:app --bind 127.0.0.1:{port} -k"
SERVERS = {
    "uvicorn-asyncio": f"{_UVICORN} asyncio",
    "uvicorn-uvloop": f"{_UVICORN} uvloop",
    "hypercorn-asyncio": f"{_HYPERCORN} asyncio",
    "hypercorn-uvloop": f"{_HYPERCORN} uvloop",
    "hypercorn-trio": f"{_HYPERCORN} trio",
}
UVICORNS = [name for name in SERVERS if name.startswith("uvicorn")]
# The time that a server takes on a busy machine: uvicorn looks for signals every 0.1 s, hypercorn ends its worker's
# process. The agent's own deadlines are far beyond it.
PROMPT = 8.0


def proving(fault: str, kinds: Iterable[str]) -> list[Any]:
    """Kinds of servers as parameters that prove a row's cells, each that of its loop."""
    return [pytest.param(kind, marks=covers(fault, "grpc", kind.rpartition("-")[2])) for kind in kinds]


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collector_thread() as (running, _):
        yield running


def serve(kind: str, collector: Collector, *options: str, **more: Any) -> AbstractContextManager[Served]:
    return served(collector, [*SERVERS[kind].split(), *options], alone=True, **more)


def ask(server: Served, count: int) -> set[str]:
    """Make some requests and return their traces' ids."""
    answers = {server.ask(f"/items/{number}") for number in range(count)}
    assert {len(each) for each in answers} == {32}
    return answers


def ask_until_it_ends(server: Served, answered: set[str]) -> None:
    """Make requests, one after the other, as long as they are answered; note their traces' ids."""
    with suppress(OSError, HTTPException), closing(HTTPConnection("127.0.0.1", server.port, timeout=10)) as connection:
        while True:
            connection.request("GET", "/items/1")
            answer = connection.getresponse()
            text = answer.read().decode()
            if answer.status == 200:
                answered.add(text)


@contextmanager
def open_stream(server: Served) -> Iterator[str]:
    """A response that does not end for as long as the block lasts; gives its trace's id."""
    with closing(HTTPConnection("127.0.0.1", server.port, timeout=10)) as connection:
        connection.request("GET", "/stream")
        with connection.getresponse() as response:
            yield response.read(32).decode()


def end(server: Served, number: signal.Signals = signal.SIGTERM, seconds: float = PROMPT) -> None:
    """Send a signal: the end is to come within so many seconds."""
    server.process.send_signal(number)
    server.process.wait(seconds)


def arrived(collector: Collector) -> set[str]:
    return set(collector.store.trace_ids)


def wait_arrived(collector: Collector, ids: set[str]) -> None:
    wait_for(lambda: arrived(collector) >= ids)
    assert arrived(collector) >= ids


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
def test_traces_arrive_complete_and_an_idle_server_ends_at_once(kind: str, collector: Collector) -> None:
    with serve(kind, collector) as server:
        ids = ask(server, 20)
        wait_arrived(collector, ids)
        end(server)
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
def test_under_load_every_answered_request_has_arrived_at_the_end(kind: str, collector: Collector) -> None:
    answered: set[str] = set()
    with serve(kind, collector) as server:
        server.ask("/items/1")
        clients = [threading.Thread(target=ask_until_it_ends, args=(server, answered)) for _ in range(8)]
        for client in clients:
            client.start()
        wait_for(lambda: len(answered) > 100)
        end(server, seconds=2 * PROMPT)
        for client in clients:
            client.join()
    assert len(answered) > 100
    assert answered <= arrived(collector)
    assert collector.store.statistics().duplicates == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", proving("P01", [*UVICORNS, "hypercorn-asyncio", "hypercorn-trio"]))
def test_an_open_stream_holds_the_server_up_but_not_what_was_answered(kind: str, collector: Collector) -> None:
    with serve(kind, collector, tracebacks=True) as server:
        ids = ask(server, 5)
        with open_stream(server) as streamed:
            server.process.send_signal(signal.SIGTERM)
            if kind in UVICORNS:
                wait_for(lambda: "Waiting for connections to close" in server.output)
            wait_arrived(collector, ids)
            if kind not in UVICORNS:
                server.process.wait(PATIENCE)
                return
            assert streamed not in arrived(collector)
        server.process.wait(PATIENCE)
    [stream] = collector.store.trace(streamed)
    assert stream.spans[0].operation == "GET:/stream"
    assert not stream.spans[0].is_error, "the client hung up"


@pytest.mark.slow
@pytest.mark.parametrize("kind", proving("P01", UVICORNS))
def test_an_open_stream_that_uvicorn_cuts_is_recorded_as_well(kind: str, collector: Collector) -> None:
    with serve(kind, collector, "--timeout-graceful-shutdown", "1", tracebacks=True) as server:
        ids = ask(server, 5)
        with open_stream(server) as streamed:
            end(server, seconds=1 + PROMPT)
            assert arrived(collector) >= ids
            [stream] = collector.store.trace(streamed)
    assert not stream.spans[0].is_error


@pytest.mark.slow
@pytest.mark.parametrize("kind", proving("P02", UVICORNS))
# at once, a signal that is still pending would swallow the next
@pytest.mark.parametrize("said", ["Waiting for connections to close", "Shutting down"], ids=["later", "at once"])
def test_interrupted_twice_what_was_answered_arrives(kind: str, said: str, collector: Collector) -> None:
    with serve(kind, collector, tracebacks=True) as server:
        ids = ask(server, 5)
        with open_stream(server):
            server.process.send_signal(signal.SIGINT)
            wait_for(lambda: said in server.output)
            end(server, signal.SIGINT)
    assert_no_error_of_ours(server.output)
    assert arrived(collector) >= ids


@pytest.mark.slow
def test_without_lifespan_the_agent_thread_reports(collector: Collector) -> None:
    with serve("uvicorn-uvloop", collector, "--lifespan", "off", tracebacks=True) as server:
        ids = ask(server, 5)
        wait_arrived(collector, ids)
        later = ask(server, 5)
        end(server, signal.SIGINT)
    assert_no_error_of_ours(server.output)
    assert arrived(collector) == ids | later


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["uvicorn-asyncio", "uvicorn-uvloop", "hypercorn-trio"])
def test_a_dead_or_silent_collector_holds_nothing_up(kind: str, collector: Collector) -> None:
    """The end no longer than the deadline."""
    with dead_address() as dead, socket.create_server(("127.0.0.1", 0)) as silent:
        for address in (dead, f"127.0.0.1:{silent.getsockname()[1]}"):
            there = {"SW_AGENT_COLLECTOR_BACKEND_SERVICES": address, "SW_AGENT_SHUTDOWN_TIMEOUT": "0.5"}
            with serve(kind, collector, **there) as server:
                assert len(ask(server, 20)) == 20
                end(server, seconds=0.5 + 0.5 + PROMPT)


@pytest.mark.slow
@pytest.mark.parametrize("kind", SERVERS)
def test_a_wrong_setting_ends_the_server_by_a_clear_line(kind: str, collector: Collector) -> None:
    with serve(kind, collector, tracebacks=True, SW_AGENT_SHUTDOWN_TIMEOUT="soon") as server:
        server.process.wait(PATIENCE)
    assert "SW_AGENT_SHUTDOWN_TIMEOUT='soon' cannot be used; allowed: a number from 0 to 300" in server.output
    assert server.status or kind not in UVICORNS, "hypercorn always ends with 0 here"
    assert "startup complete" not in server.output
