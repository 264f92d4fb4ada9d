"""`swagent run` before a server that forks its workers: each of them reports, as an instance of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from faults.matrix import BACKENDS
from faults.processes.clients import Clients
from faults.processes.endings import Ended, end
from faults.processes.servers import booted
from faults.processes.stage import Scene, playing

SERVER = "gunicorn --workers 2 --bind 127.0.0.1:0 --no-control-socket faults.processes.wsgi:app"


async def _run(scene: Scene) -> Ended:
    async with scene.launch(f"swagent run --backend {scene.backend} -- {sys.executable} -m {SERVER}") as app:
        clients = Clients(app)
        clients.start(4, rate=20)
        reports = scene.reports(app)
        # the workers, and not the process that they were forked from
        assert await scene.sink.wait_for(lambda: len(reports.instances) == 2, 60), app.output
        await clients.wait_answered(len(clients.answered) + 40)
        return await end(app, clients, scene.sink)


ran = playing(_run)


@pytest.mark.parametrize("backend", BACKENDS.values())
@pytest.mark.parametrize("transport", ["grpc"])
def test_the_workers_of_a_server_under_it_report(
    transport: str, backend: str, ran: Callable[[str, str], Ended]
) -> None:
    run = ran(transport, backend)
    run.check()
    served_by = {run.reports.instances[segment.instance] for segment in run.reports.segments}
    assert served_by == booted(run.output)
