"""Names of collectors: unknown ones, ones that are slow to look up, ones that move, ones with several addresses."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from faults.covering import each_cell
from faults.network.lines import NAME, Line, Ticker, agent_for, confirm_again, confirm_one, record, wait_for
from faults.noted_transport import Note
from kit.proxy import Proxy
from kit.servers import full_backlog
from kit.sinks import Sink

pytestmark = pytest.mark.anyio

FIRST, SECOND = "127.0.0.2", "127.0.0.3"


class Resolver:
    """Replaces the system's.

    :ivar addresses: the addresses of the name; empty: it is unknown
    :ivar over: ends the wait of those who ask while it is slow
    """

    def __init__(self) -> None:
        self.addresses: list[str] = []
        self.is_slow = False
        self.asked: list[threading.Thread] = []
        self.over = threading.Event()
        self._system = socket.getaddrinfo

    def look_up(self, host: Any, *args: Any, **kwargs: Any) -> Any:
        """As `socket.getaddrinfo`."""
        if host not in (NAME, NAME.encode()):
            return self._system(host, *args, **kwargs)
        self.asked.append(threading.current_thread())
        if self.is_slow:
            self.over.wait(10.0)
        if not self.addresses:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [each for address in self.addresses for each in self._system(address, *args, **kwargs)]


@pytest.fixture
def resolver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Resolver]:
    resolver = Resolver()
    monkeypatch.setattr(socket, "getaddrinfo", resolver.look_up)
    yield resolver
    resolver.over.set()


@each_cell("F03")
async def test_a_name_is_looked_up_again_at_each_dial(
    transport: str, named_sink: tuple[Sink, int], resolver: Resolver
) -> None:
    sink, port = named_sink
    with Proxy(sink.port, host=FIRST, port=port) as first, Proxy(sink.port, host=SECOND, port=port) as second:
        line = Line(transport, [sink], [first, second])
        async with agent_for(transport, [f"{NAME}:{port}"], line.notes) as agent:
            record(3)
            await wait_for(lambda: len(resolver.asked) >= 2)
            assert line.audit(agent) == {"queued": 3}, "the name is not known yet"
            resolver.addresses = [FIRST]
            await confirm_one(agent)
            assert second.connected == 0
            resolver.addresses = [SECOND]
            asked = len(resolver.asked)
            await confirm_one(agent)
            assert len(resolver.asked) == asked, "a connection is there"
            await first.thread.call(first.stop)
            await confirm_again(agent)
            assert second.connected > 0
            assert len(resolver.asked) > asked
        line.audit(agent)


@each_cell("F03")
async def test_a_slow_name_holds_up_neither_the_loop_nor_the_stop_nor_the_loops_end(
    transport: str, resolver: Resolver
) -> None:
    resolver.is_slow = True
    notes: list[Note] = []
    agent = agent_for(transport, [f"{NAME}:1"], notes, shutdown_timeout=0.2, request_timeout=0.2)
    ticker = Ticker()
    async with anyio.create_task_group() as group:
        group.start_soon(ticker.run)
        async with agent:
            record(3)
            await wait_for(lambda: len(resolver.asked) >= 2)
            began = time.monotonic()
        seconds = time.monotonic() - began
        group.cancel_scope.cancel()
    print(f"stopped in {seconds:.2f} s, the loop was held for {ticker.longest:.2f} s at most")
    assert ticker.longest < 3.0, "and not for the ten seconds that a lookup takes"
    # the contract's half second, and what a busy machine may add to it
    assert seconds < 0.2 + 3.0
    assert agent.statistics().segment.dropped == {"shutdown": 3}
    assert {note.verdict for note in notes} <= {"RetryableError", "Cancelled", "CancelledError"}
    assert all(each.daemon for each in resolver.asked if each.is_alive()), "loop and interpreter wait for such threads"


@each_cell("F03")
async def test_of_several_addresses_a_dead_one_does_not_block_the_others(
    transport: str, named_sink: tuple[Sink, int], resolver: Resolver, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("_dialling", "_http_dialling"):
        monkeypatch.setattr(f"swagent_transports.{module}.LONGEST_WAIT", 0.1)
    monkeypatch.setattr("swagent_transports._resolver.shuffled", lambda addresses, _: list(dict.fromkeys(addresses)))
    sink, port = named_sink
    with full_backlog(FIRST, port), Proxy(sink.port, host=SECOND, port=port) as living:
        resolver.addresses = [FIRST, SECOND]
        line = Line(transport, [sink], [living])
        async with agent_for(transport, [f"{NAME}:{port}"], line.notes) as agent:
            await confirm_one(agent)
            assert [note.verdict for note in line.notes if note.call == "probe"] == ["confirmed"]
        line.audit(agent)
