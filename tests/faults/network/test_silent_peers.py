"""Peers that take the connection, or the request, and never answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import anyio
import pytest

from faults.covering import covers, each_cell
from faults.network.lines import PATIENCE, Line, agent_for, confirm_one, record, wait_for
from kit import answers, http_answers
from kit.h2_peer import Call as GrpcCall
from kit.h2_peer import H2Peer
from kit.http_peer import HttpPeer
from kit.servers import Behaviour, Parrot
from kit.stopwatch import Stopwatch
from swagent.ledger import SignalStatistics

pytestmark = pytest.mark.anyio

# More than the half second of the contract, and much less than what a call would take.
ON_A_BUSY_MACHINE = 3.0


def probes_only(confirm: Behaviour) -> Behaviour:
    """The heartbeat is answered, and records are not."""

    async def behave(call: Any) -> None:
        path = call.headers[b":path"].decode() if isinstance(call, GrpcCall) else call.path
        if "management" in path.lower():
            await confirm(call)

    return behave


@contextmanager
def silent_peers() -> Iterator[dict[tuple[str, str], str]]:
    """The addresses of peers by transport and way to be silent."""
    with ExitStack() as stack:
        enter = stack.enter_context
        yield {
            ("grpc", "only listens"): enter(Parrot()).address,
            ("http", "only listens"): enter(Parrot()).address,
            ("kafka", "only listens"): enter(Parrot()).address,
            ("grpc", "greets"): enter(H2Peer(answers.silent)).address,
            ("http", "reads"): enter(HttpPeer(http_answers.silent)).address,
            ("http", "begins an answer"): enter(Parrot(b"HTTP/1.1 ")).address,
            ("grpc", "begins a greeting"): enter(Parrot(b"\0\0")).address,
            ("kafka", "begins an answer"): enter(Parrot(b"\0\0\0")).address,
            ("grpc", "answers probes only"): enter(H2Peer(probes_only(answers.confirm))).address,
            ("http", "answers probes only"): enter(HttpPeer(probes_only(http_answers.confirm))).address,
        }


@pytest.mark.slow
@covers("F04", "grpc")
@covers("F04", "http")
@covers("F04", "kafka")
@covers("F05", "grpc")
@covers("F05", "http")
async def test_stopping_keeps_its_default_deadline_before_every_silent_peer() -> None:
    seconds: dict[tuple[str, str, float], float] = {}
    ledgers: dict[tuple[str, str, float], SignalStatistics] = {}

    async def live(transport: str, kind: str, address: str, request_timeout: float) -> None:
        agent = agent_for(transport, [address], [], request_timeout=request_timeout)
        async with agent:
            record(20)
            await all_are_there.wait()
            watch = Stopwatch()
        seconds[transport, kind, request_timeout] = watch.own_seconds
        ledgers[transport, kind, request_timeout] = agent.statistics().segment

    all_are_there = anyio.Event()
    with silent_peers() as peers:
        async with anyio.create_task_group() as group:
            for (transport, kind), address in peers.items():
                # a call does not end before the agent ends, or, by default, just about then
                group.start_soon(live, transport, kind, address, 300.0)
                if kind == "only listens":
                    group.start_soon(live, transport, kind, address, 5.0)
            # until the batches that can leave have left
            await anyio.sleep(0.7)
            all_are_there.set()
    print(seconds)
    assert {peer: each for peer, each in seconds.items() if each > 5.5} == {}
    for peer, ledger in ledgers.items():
        assert ledger.balanced, peer
        assert ledger.offered == sum(ledger.dropped.values()) == 20, peer
        assert set(ledger.dropped) == {"ambiguous" if peer[1] == "answers probes only" else "shutdown"}, peer


@covers("F05", "kafka")
@pytest.mark.parametrize("transport", ["kafka"])
async def test_stopping_keeps_its_deadline_before_a_broker_that_fell_silent(line: Line) -> None:
    async with line.agent(shutdown_timeout=0.5, request_timeout=30.0) as agent:
        await confirm_one(agent)
        line.proxy.set(hole=True)
        record(600)
        await wait_for(lambda: agent.statistics().segment.in_flight)
        watch = Stopwatch()
    assert watch.own_seconds <= 0.5 + ON_A_BUSY_MACHINE
    assert line.audit(agent) == {"confirmed": 1, "dropped ambiguous": 600}


@each_cell("F05")
async def test_a_peer_that_falls_silent_costs_what_is_under_way_and_no_memory(
    transport: str, make_line: Callable[[int], Line]
) -> None:
    """The next collector takes over; brokers are one cluster, and there it is the same one that comes back."""
    line = make_line(1 if transport == "kafka" else 2)
    # longer than all the recording takes: when the time is over, the next collector takes what comes
    async with line.agent(request_timeout=2.0, trace_max_buffer_size=1000) as agent:
        await confirm_one(agent)
        line.proxy.set(hole=True)
        for _ in range(20):
            record(200)
            held = agent.statistics().segment
            assert held.queued + held.in_flight <= 1000
            line.audit(agent)
            await anyio.sleep(0.005)
        if transport == "kafka":
            line.proxy.heal()
            await line.proxy.thread.call(line.proxy.sever)
        await wait_for(lambda: agent.statistics().segment.dropped.get("ambiguous"))
        with anyio.fail_after(PATIENCE):
            await agent.flush(PATIENCE)
        await confirm_one(agent)
    counts = line.audit(agent)
    print(counts)
    assert counts["refused full"] > 2000
    assert counts["dropped ambiguous"] <= 4 * 512
    assert sum(counts.values()) == 20 * 200 + 2
