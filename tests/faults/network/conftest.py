"""Proxies before sinks, over every transport."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from faults.network.lines import NAME, Line
from kit.proxy import Proxy
from kit.real.ports import HOST, free_ports
from kit.sinks import Sink, sink_of


@pytest.fixture(autouse=True)
def short_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Backoff with next to no delay, unless a test says otherwise."""
    monkeypatch.setattr("swagent.agent.JITTER.random", lambda: 0.01)


@pytest.fixture
def make_line(transport: str) -> Iterator[Callable[..., Line]]:
    """Makes a line to so many sinks."""
    with ExitStack() as stack:

        def make(count: int = 1) -> Line:
            sinks = [stack.enter_context(sink_of(transport)) for _ in range(count)]
            proxies = [stack.enter_context(Proxy(sink.port)) for sink in sinks]
            for sink, proxy in zip(sinks, proxies, strict=True):
                if sink.broker is not None:
                    sink.broker.advertised = HOST, proxy.port
            return Line(transport, sinks, proxies)

        yield make


@pytest.fixture
def named_sink(transport: str) -> Iterator[tuple[Sink, int]]:
    """A sink, and the port that clients use together with the name `NAME`."""
    (port,) = free_ports(1)
    with sink_of(transport) as sink:
        if sink.broker is not None:
            sink.broker.advertised = NAME, port
        yield sink, port


@pytest.fixture
def line(make_line: Callable[..., Line]) -> Line:
    """A line to one sink."""
    return make_line()
