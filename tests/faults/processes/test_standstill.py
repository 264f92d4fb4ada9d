"""A process is stopped for a while and goes on: it makes up for nothing, and comes back by itself."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

import psutil

from faults.covering import each_cell
from faults.processes.apps import App
from faults.processes.clients import Clients
from faults.processes.endings import Ended, end
from faults.processes.servers import SERVERS
from faults.processes.stage import Scene, playing

# shorter than the time for which it is held
BEAT, TIMEOUT = 0.2, 2.0
STOPPED = 4.5
# how long it is looked at afterwards
LOOKED_AT = 1.0
# at once, it may have lost its connection and reported its properties again
SLACK = 3


@dataclass
class StoodStill:
    """An application that was held.

    :ivar beats: its heartbeats in the second after it went on
    :ivar connections: those that it made in that second
    """

    beats: int
    connections: int
    ended: Ended


async def _hold_still(scene: Scene) -> StoodStill:
    environ = {"SW_AGENT_COLLECTOR_HEARTBEAT_PERIOD": f"{BEAT}", "SW_AGENT_REQUEST_TIMEOUT": f"{TIMEOUT}"}
    async with scene.launch(SERVERS[scene.backend], **environ) as app:
        clients = Clients(app)
        reports = scene.reports(app)
        assert await scene.sink.wait_for(lambda: len(reports.beats) > 3, 30)
        clients.start(2, rate=10)
        await clients.wait_answered(20)
        app.send_all(signal.SIGSTOP)
        await asyncio.sleep(STOPPED)
        before = _connections(scene, app)
        went_on = time.monotonic()
        app.send_all(signal.SIGCONT)
        await asyncio.sleep(LOOKED_AT)
        # the beats that were under way arrive a little later than they were sent
        beats = sum(went_on <= beat <= went_on + LOOKED_AT for beat in reports.beats)
        connections = len(_connections(scene, app) - before)
        await clients.stop()
        later = Clients(app)
        await later.ask(10)
        assert await scene.sink.wait_for(lambda: later.answered.keys() <= reports.traces, 15), app.output
        return StoodStill(beats, connections, await end(app, later, scene.sink))


def _connections(scene: Scene, app: App) -> set[int]:
    """The local ports of the application's connections to the collector."""
    processes = [psutil.Process(each) for each in app.processes]
    found = [each for process in processes for each in process.net_connections("tcp")]
    return {each.laddr.port for each in found if each.raddr and each.raddr.port == scene.sink.port}


was_held = playing(_hold_still, at_once=9)


@each_cell("P07", backend_name="backend")
def test_after_a_standstill_there_is_no_burst_and_the_reports_go_on(
    transport: str, backend: str, was_held: Callable[[str, str], StoodStill]
) -> None:
    run = was_held(transport, backend)
    print(run.beats, run.connections)
    assert run.beats <= LOOKED_AT / BEAT + SLACK
    assert run.connections <= SLACK
    run.ended.check()
    spans = [span for segment in run.ended.reports.segments for span in segment.spans]
    assert all(span.start_time <= span.end_time for span in spans)
