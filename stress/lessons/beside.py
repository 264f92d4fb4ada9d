"""A program run twice: as it is, and under `swagent run` with a collector, whose findings are read."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from stress.findings.running import SETTINGS
from swagent.collector.api.failure_index import FailureIndex
from swagent.collector.findings.baselines import Baselines
from swagent.collector.findings.finding import Finding
from swagent.collector.findings.now import now
from swagent.collector.server import Collector

from .program import last_line_of

_AGENT = ("-m", "swagent", "run", "--", sys.executable)


class Ran(NamedTuple):
    """The result of a program.

    :ivar said: its last line, which is JSON
    :ivar findings: of the collector; none where there was no agent
    """

    said: Any
    findings: Sequence[Finding] = ()


def run_bare(module: str, *arguments: str) -> Ran:
    """Run a module as it is."""
    return Ran(_run(("-m", module, *arguments), _clean()))


def run_with_agent(service: str, module: str, *arguments: str) -> Ran:
    """Run a module with the agent, and ask what was amiss in it."""
    return asyncio.run(_run_with_agent(service, module, arguments))


async def _run_with_agent(service: str, module: str, arguments: Sequence[str]) -> Ran:
    async with Collector() as collector:
        own = {"SW_AGENT_NAME": service, "SW_AGENT_COLLECTOR_BACKEND_SERVICES": collector.address}
        # in a thread: the collector in this loop has to take what the program sends
        said = await asyncio.to_thread(_run, (*_AGENT, "-m", module, *arguments), {**_clean(), **SETTINGS, **own})
        await asyncio.to_thread(collector.store.commit)
        store = collector.store
        return Ran(said, now(store, FailureIndex(store), Baselines(store), {}).findings)


def _run(arguments: Sequence[str], environ: dict[str, str]) -> Any:
    return last_line_of([sys.executable, *arguments], environ)


def _clean() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("SW_")}


def sentences(findings: Sequence[Finding], *kinds: str) -> list[str]:
    """The findings in words, those of some kinds only where kinds are named."""
    return [f"{each.kind}: {each.sentence}" for each in findings if not kinds or each.kind in kinds]
