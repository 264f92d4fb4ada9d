"""The two ways to start an agent: each runs one, has it record, and returns the ledger that it leaves."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Mapping
from typing import Any

import anyio

import swagent
from swagent.ledger import Statistics
from swagent.meters import Counter

LOOPS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "asyncio": ("asyncio", {}),
    "uvloop": ("asyncio", {"use_uvloop": True}),
    "trio": ("trio", {}),
}
OPERATION, INNER, MESSAGE, METER = "GET:/stock", "count", "few are left", "stock_asked"
_ASKED = Counter(METER)


def in_hosts_loop(config: swagent.Config, loop: str) -> Statistics:
    """In a loop of the application's, flushed before it is stopped."""

    async def live() -> Statistics:
        async with swagent.Agent(config) as agent:
            record()
            assert await agent.flush(timeout=10)
        return agent.statistics()

    backend, options = LOOPS[loop]
    return anyio.run(live, backend=backend, backend_options=options)


def in_agents_thread(config: swagent.Config, loop: str) -> Statistics:
    """In a thread of the agent's own."""
    swagent.start(dataclasses.replace(config, backend=loop))
    record()
    statistics = swagent.stop()
    assert statistics is not None
    return statistics


STARTS: Mapping[str, Callable[[swagent.Config, str], Statistics]] = {"host": in_hosts_loop, "thread": in_agents_thread}


def record() -> None:
    """One segment of two spans, one log record under it, one meter."""
    with swagent.entry_span(OPERATION):
        with swagent.local_span(INNER):
            logging.getLogger("stock").warning(MESSAGE)
        _ASKED.increment()
