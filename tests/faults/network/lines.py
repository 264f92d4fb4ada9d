"""A whole agent, a proxy before each of its collectors: what the ledger says must be what arrived."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import anyio

from faults.noted_transport import Note, noted
from kit.proxy import Proxy
from kit.sinks import Sink
from kit.stopwatch import Stopwatch
from runtime.worlds import SEGMENTS_ONLY, outcome
from swagent import Agent, Config, local_span
from swagent.runtime.transport_choice import find_transport

NAME = "collector.test"
"""A name that no resolver knows but those of the tests."""
# Seconds after which no test waits any more, on however busy a machine.
PATIENCE = 15.0


def agent_for(transport: str, addresses: Sequence[str], notes: list[Note], /, **changes: Any) -> Agent:
    """An agent that reports over a transport.

    :param addresses: the collectors, or the brokers
    :param notes: where its calls are noted
    """
    where: dict[str, Any] = {"collector": ",".join(addresses)}
    if transport == "kafka":
        where = {"kafka_bootstrap_servers": tuple(addresses)}
    settings = {"service": "shop", "instance": "one", "protocol": transport, "request_timeout": 2.0, **SEGMENTS_ONLY}
    config = Config(**{**settings, **where, **changes})
    return Agent(config, transport=noted(find_transport(config), notes))


class Line:
    """An agent's line to its sinks, through a proxy each.

    :ivar proxies: each leads to the sink of the same index
    :ivar notes: what each call of the agent has come to
    """

    def __init__(self, transport: str, sinks: Sequence[Sink], proxies: Sequence[Proxy]) -> None:
        self.transport = transport
        self.sinks = sinks
        self.proxies = proxies
        self.notes: list[Note] = []

    @property
    def proxy(self) -> Proxy:
        """The first, or only, proxy."""
        return self.proxies[0]

    def agent(self, **changes: Any) -> Agent:
        """An agent on this line."""
        return agent_for(self.transport, [each.address for each in self.proxies], self.notes, **changes)

    def arrived(self) -> Counter[str]:
        """How often each segment has come, at any sink."""
        return sum((sink.ids for sink in self.sinks), Counter[str]())

    def sends(self, verdict: str | None = None) -> list[Note]:
        """The batches that were sent and came to a verdict."""
        return [note for note in self.notes if note.call == "send" and verdict in (None, note.verdict)]

    def audit(self, agent: Agent) -> dict[str, int]:
        """Compare the ledger with what arrived.

        confirmed <= arrived <= accepted, once each; what was called unsent is not there; and what is there beyond what
        was confirmed is among what the agent calls ambiguous.

        :returns: the ledger's counts that are not zero
        """
        counts = outcome(agent)
        arrived = self.arrived()
        confirmed = {each for note in self.sends("confirmed") for each in note.ids}
        tried = {each for note in self.sends() for each in note.ids}
        open_ones = [note for note in self.sends() if note.verdict not in ("confirmed", "RetryableError")]
        in_doubt = {each for note in open_ones for each in note.ids}
        assert confirmed <= set(arrived), "confirmed, and not there"
        assert set(arrived) <= confirmed | in_doubt, "called unsent, or never sent, and there"
        assert len(tried) <= agent.statistics().segment.accepted
        assert len(confirmed) == counts.get("confirmed", 0)
        assert len(arrived) <= sum(counts.get(each, 0) for each in ("confirmed", "dropped ambiguous", "in flight"))
        repeated = [each for each, count in arrived.items() if count > 1]
        assert not repeated or agent.config.delivery == "at_least_once", f"{len(repeated)} of {len(arrived)} came twice"
        return counts


def record(count: int = 1) -> None:
    """The work of an application."""
    for number in range(count):
        with local_span(f"work {number}"):
            pass


async def wait_for(condition: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Wait for what the agent, or a server in another thread, comes to by itself.

    :raises TimeoutError: when it does not
    """
    with anyio.fail_after(seconds):
        while not condition():  # noqa: ASYNC110  (no event of ours says it)
            await anyio.sleep(0.005)


async def confirm_one(agent: Agent, seconds: float = PATIENCE) -> None:
    """Record once, and wait until that is confirmed: the way is open.

    :raises TimeoutError: when it is not
    """
    record()
    before = agent.statistics().segment.offered
    with anyio.fail_after(seconds):
        assert await agent.flush(seconds), f"{before} records, and not all were confirmed: {agent.statistics()}"


async def confirm_again(agent: Agent, seconds: float = PATIENCE) -> None:
    """Record until something is confirmed: after an outage that the agent has yet to notice.

    :raises TimeoutError: when nothing is
    """
    before = agent.statistics().segment.confirmed
    with anyio.fail_after(seconds):
        while agent.statistics().segment.confirmed == before:
            record()
            await agent.flush(seconds)


class Ticker:
    """Measures how long the loop is held.

    :ivar longest: seconds between two turns that were meant to be 5 ms apart, less those without a processor
    """

    def __init__(self) -> None:
        self.longest = 0.0

    async def run(self) -> None:
        """Measure until cancelled."""
        while True:
            watch = Stopwatch()
            await anyio.sleep(0.005)
            self.longest = max(self.longest, watch.own_seconds)
