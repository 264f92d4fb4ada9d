"""`python -m stress attach`: an application that serves is attached to under load, and detached.

The table says after how long the first request came with its query, as a part of its caller's trace, counted from the
start of the command; how many requests failed; and how slow they were meanwhile. Needs Python 3.14.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from attach.served import COMMANDS, Served, serving
from swagent.testing import collector
from swagent.testing.collecting import RunningCollector

from ..environments import SetupError
from ..machine import describe_machine
from ..markdown import make_table
from ..pipeline.figures import percentile
from .load import CONNECTIONS, TRACE, ItemLoad

_CALM = 3.0  # seconds before the order, and between the orders
_LONGEST = 60.0
_HEADS = ("", "first joined trace, s", "attached after, s", "detached after, s", "requests", "failed",
          "p99 before, ms", "longest meanwhile, ms", "left")  # fmt: skip


class Figures(NamedTuple):
    """Of one attachment; times in seconds.

    :ivar before: latencies before the order
    :ivar during: those from the order to attach up to the end
    :ivar left: what is left of the agent after detaching
    """

    first_trace: float
    attached: float
    detached: float
    load: ItemLoad
    before: list[float]
    during: list[float]
    left: list[str]


def main(arguments: list[str]) -> int:
    """Run it.

    :returns: 0; 1 when a request failed, or something is left
    :raises SetupError: this Python cannot attach
    """
    given = _parse(arguments)
    if not hasattr(sys, "remote_exec"):
        raise SetupError(f"Python {sys.version_info[0]}.{sys.version_info[1]} cannot attach: take 3.14 or later")
    found: list[tuple[str, Figures]] = []
    for kind in [each for each in COMMANDS if given.only in each for _ in range(given.rounds)]:
        with tempfile.TemporaryDirectory() as folder, serving(kind, Path(folder)) as served, collector() as arrived:
            found.append((kind, asyncio.run(_attach_under_load(served, arrived, given.rate))))
        print(" ".join(_row(*found[-1])), file=sys.stderr, flush=True)
    print(describe_machine(), make_table(_HEADS, [_row(*each) for each in found]), sep="\n\n")
    return 1 if any(figures.load.failures or figures.left for _, figures in found) else 0


async def _attach_under_load(served: Served, arrived: RunningCollector, rate: float) -> Figures:
    load, loop = ItemLoad(served.port, rate, CONNECTIONS), asyncio.get_running_loop()
    asking = asyncio.create_task(load.run())
    await asyncio.sleep(_CALM)
    began = loop.time()
    first, attached = await asyncio.gather(_first_trace(arrived), _order("attach", served, arrived))
    await asyncio.sleep(_CALM)
    detached = await _order("detach", served, arrived)
    await asyncio.sleep(_CALM)
    load.stop()
    await asking
    latencies = list(zip(load.due, load.latencies, strict=True))
    before = [seconds for due, seconds in latencies if due < began]
    during = [seconds for due, seconds in latencies if due >= began]
    left = await asyncio.to_thread(served.left)
    return Figures(first, attached, detached, load, before, during, left)


async def _first_trace(arrived: RunningCollector) -> float:
    """Seconds until a request is there with its query, as a part of its caller's trace."""

    def is_joined(known: RunningCollector) -> bool:
        joined = (each for each in known.segments if each.trace_id.startswith(TRACE))
        return any(span.operation.startswith("SQLite/") for segment in joined for span in segment.spans)

    began = asyncio.get_running_loop().time()
    await arrived.wait_for(is_joined, _LONGEST)
    return asyncio.get_running_loop().time() - began


async def _order(what: str, served: Served, arrived: RunningCollector) -> float:
    """Run a command of `swagent`; the seconds that it took.

    :raises SetupError: it failed
    """
    began = asyncio.get_running_loop().time()
    environ = {**os.environ, **arrived.environ, "SW_AGENT_NAME": "shop"}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "swagent", what, str(served.pid), env=environ,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    said, _ = await process.communicate()
    if process.returncode != 0:
        raise SetupError(f"swagent {what} failed: {said.decode()}")
    return asyncio.get_running_loop().time() - began


def _row(kind: str, found: Figures) -> Sequence[str]:
    p99 = percentile(sorted(found.before), 0.99)
    times = (f"{each:.2f}" for each in (found.first_trace, found.attached, found.detached))
    load = found.load
    return (kind, *times, f"{load.asked:,}", str(sum(load.failures.values())), f"{p99 * 1000:.1f}",
            f"{max(found.during) * 1000:.0f}", ", ".join(found.left) or "nothing")  # fmt: skip


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m stress attach", description=__doc__)
    parser.add_argument("--rate", type=float, default=500.0, help="requests a second (%(default)g)")
    parser.add_argument("--rounds", type=int, default=3, help="of each server (%(default)d)")
    parser.add_argument("--only", default="", metavar="TEXT", help="servers with this in their name")
    return parser.parse_args(arguments)
