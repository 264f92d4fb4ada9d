"""A server is killed at any moment under load: the last second of its records goes with it, and no more."""

from __future__ import annotations

import asyncio
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from faults.covering import each_cell
from faults.processes.clients import Clients
from faults.processes.endings import READING, Ended, ended
from faults.processes.servers import SERVERS
from faults.processes.stage import Scene, playing
from kit.seeds import session_seed

# 54 in all nine cells
KILLS = 6
CLIENTS, RATE = 2, 15.0
# a second of records, and a batch, which takes half a second to fill
LOST = 1.5
SEED = session_seed()


@dataclass
class Killed:
    """One application that was killed.

    :ivar moment: seconds after its first answer
    :ivar lost: how long before the kill each trace was answered that is missing
    :ivar starved: how long it waited for a processor meanwhile
    """

    moment: float
    lost: list[float]
    starved: float
    ended: Ended


async def _kill(scene: Scene, moment: float) -> Killed:
    # within one process: killing hypercorn's first one leaves its worker alone
    command = SERVERS[scene.backend] + (" --workers 0" if scene.backend == "trio" else "")
    async with scene.launch(command) as app:
        clients, reports = Clients(app), scene.reports(app)
        # records that are made before there is a connection wait for it
        assert await scene.sink.wait_for(lambda: bool(reports.instances), 30), app.output
        before = app.starved
        clients.start(CLIENTS, RATE)
        await clients.wait_answered(1)
        await asyncio.sleep(moment)
        starved = max(0, app.starved - before)
        killed_at = time.monotonic()
        app.send(signal.SIGKILL)
        await app.ended()
        end = await ended(app, clients, scene.sink, 0, patience=0.5)
    due = {trace for trace, answered_at in clients.answered.items() if answered_at < killed_at - LOST - starved}
    await scene.sink.wait_for(lambda: due <= reports.traces, READING)
    missing = clients.answered.keys() - reports.traces
    return Killed(moment, sorted(killed_at - clients.answered[each] for each in missing), starved, end)


async def _kill_some(scene: Scene) -> list[Killed]:
    moments = random.Random(f"{SEED} {scene.transport} {scene.backend}")
    return await asyncio.gather(*(_kill(scene, moments.uniform(0, 2.4)) for _ in range(KILLS)))


killed = playing(_kill_some)


@each_cell("P03", backend_name="backend")
def test_killed_at_any_moment_a_server_loses_a_second_of_records_and_a_batch(
    transport: str, backend: str, killed: Callable[[str, str], list[Killed]]
) -> None:
    for each in killed(transport, backend):
        oldest = max(each.lost, default=0)
        print(f"seed {SEED}: killed after {each.moment:.3f} s, {len(each.ended.answered)} answered, "
              f"{len(each.lost)} lost, the oldest of {oldest:.3f} s, starved for {each.starved:.3f} s")  # fmt: skip
        each.ended.check_records()
        most = LOST + each.starved
        assert oldest <= most
        assert len(each.lost) <= most * CLIENTS * RATE
