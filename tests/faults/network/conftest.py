"""Proxies before sinks, over every transport."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from e2e.fixtures import make
from faults.network.lines import Line
from faults.network.sinks import NAME, Broker, Sink, sink_of
from kit.loop_thread import LoopThread
from kit.proxy import Proxy
from kit.real.kafka import Kafka
from kit.real.ports import HOST, free_ports

_HERE = Path(__file__).parent
_SECONDS = 600  # the first run fetches the jars within some test's fixture
_STARTING = 60


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:  # all of the session's, not only this folder's
        if _HERE in item.path.parents and "kafka" in getattr(getattr(item, "callspec", None), "params", {}).values():
            item.add_marker(pytest.mark.e2e)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(_SECONDS))


@pytest.fixture(autouse=True)
def short_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Backoff with next to no delay, unless a test says otherwise."""
    monkeypatch.setattr("swagent.agent.JITTER.random", lambda: 0.01)


@pytest.fixture(scope="session")
def front_ports() -> tuple[int, ...]:
    """Where proxies are in front of the broker, which sends its clients to them: to the address of the first,
    and to the name of the second."""
    return free_ports(2)


@pytest.fixture(scope="session")
def broker(front_ports: tuple[int, ...]) -> Iterator[Broker]:
    """A real broker, one for the session."""
    fronts = [f"{host}:{port}" for host, port in zip((HOST, NAME), front_ports, strict=True)]
    with make(lambda: Kafka(fronts=fronts)) as kafka, LoopThread() as tools:
        broker = Broker(kafka, tools)
        tools._submit(broker.start).result(_STARTING)  # run() is for what takes no time
        yield broker
        tools.run(broker.stop)


@pytest.fixture
def make_line(transport: str, request: pytest.FixtureRequest) -> Iterator[Callable[..., Line]]:
    """Makes a line to so many sinks."""
    with ExitStack() as stack:

        def make(count: int = 1) -> Line:
            broker = request.getfixturevalue("broker") if transport == "kafka" else None
            port = request.getfixturevalue("front_ports")[0] if transport == "kafka" else 0
            sinks = [stack.enter_context(sink_of(transport, broker)) for _ in range(count)]
            proxies = [stack.enter_context(Proxy(sink.port, port=port)) for sink in sinks]
            return Line(transport, sinks, proxies)

        yield make


@pytest.fixture
def named_sink(transport: str, request: pytest.FixtureRequest) -> Iterator[tuple[Sink, int]]:
    """A sink, and the port that clients use together with the name `NAME`."""
    broker = request.getfixturevalue("broker") if transport == "kafka" else None
    port = request.getfixturevalue("front_ports")[1] if transport == "kafka" else free_ports(1)[0]
    with sink_of(transport, broker, entry=1) as sink:
        yield sink, port


@pytest.fixture
def line(make_line: Callable[..., Line]) -> Line:
    """A line to one sink."""
    return make_line()
