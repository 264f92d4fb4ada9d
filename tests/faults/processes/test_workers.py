"""Servers with several workers, which come and go: each is an instance of its own, and none takes answers with it."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import anyio
import pytest

from faults.covering import covers, each_cell
from faults.matrix import TRANSPORTS
from faults.processes.apps import App
from faults.processes.clients import Clients
from faults.processes.endings import STOP, Ended, end, logged_as_lost
from faults.processes.servers import GUNICORN, HYPERCORN, booted
from faults.processes.stage import Scene, playing

# the loss that a killed worker may have: a second of records, and a batch
LOST = 1.5
# seconds until gunicorn gives a worker up; uvicorn's reports every half of them that it lives, and looks once a second
PATIENCE = 10
LIMIT = 40
# digits at the beginning of an id that are its process's
PROCESS = 20


@dataclass
class Workers:
    """A server that has ended.

    :ivar missing: the traces that are missing of those that were answered, and when, in seconds after some moment
    :ivar left: its processes that are left
    :ivar starved: how long its processes waited for a processor before that moment
    """

    ended: Ended
    missing: dict[str, float]
    left: list[str]
    starved: float

    def check(self, *, at_least: int) -> None:
        """Check the rule of every server: one instance for each worker, and nothing is left."""
        assert not self.left
        reports = self.ended.reports
        assert len(reports.instances) >= at_least
        processes = list(reports.instances.values())
        assert len(set(processes)) == len(processes), "two instances in one process"
        assert {segment.instance for segment in reports.segments} <= reports.instances.keys()
        assert self.ended.seconds < STOP

    def check_missing(self) -> None:
        """A killed process took its last second along, and no other process lost anything."""
        print(f"missing: {self.missing}, starved: {self.starved}")
        assert all(moment >= -LOST - self.starved for moment in self.missing.values())
        assert len({trace[:PROCESS] for trace in self.missing}) <= 1


async def _end(scene: Scene, app: App, clients: Clients, moment: float = 0, starved: float = 0) -> Workers:
    run = await end(app, clients, scene.sink)
    missing = {trace: clients.answered[trace] - moment for trace in run.answered - run.reports.traces}
    with anyio.move_on_after(2):
        while app.left():  # noqa: ASYNC110  (who has closed its output is about to end)
            await anyio.sleep(0.02)
    return Workers(run, missing, app.left(), starved)


async def _wait_instances(scene: Scene, app: App, count: int) -> None:
    reports = scene.reports(app)
    found = await scene.sink.wait_for(lambda: len(reports.instances) >= count, 30)
    assert found, f"{len(reports.instances)} of {count} instances: {app.output}"


async def _renew(scene: Scene) -> Workers:
    async with scene.launch(f"{GUNICORN[scene.backend]} asgi.served:app") as app:
        clients = Clients(app)
        clients.start(4, rate=20)
        await _wait_instances(scene, app, 2)
        await clients.wait_answered(30)
        app.send(signal.SIGHUP)
        await _wait_instances(scene, app, 4)
        await clients.wait_answered(len(clients.answered) + 30)
        return await _end(scene, app, clients)


async def _limit(scene: Scene) -> Workers:
    """With an application that was imported before the fork."""
    async with scene.launch(
        f"{GUNICORN[scene.backend]} --preload --max-requests {LIMIT} faults.processes.configured:app"
    ) as app:
        clients = Clients(app)
        clients.start(4, rate=40)
        await _wait_instances(scene, app, 4)
        return await _end(scene, app, clients)


async def _get_stuck(scene: Scene) -> Workers:
    async with scene.launch(f"{GUNICORN[scene.backend]} --timeout {PATIENCE} asgi.served:app") as app:
        clients = Clients(app)
        await _wait_instances(scene, app, 2)
        before = app.starved
        clients.start(4, rate=20)
        await clients.wait_answered(40)
        stuck_at, starved = time.monotonic(), max(0, app.starved - before)
        clients.start_one("/block")
        await app.printed("WORKER TIMEOUT")
        await _wait_instances(scene, app, 3)
        await clients.wait_answered(len(clients.answered) + 30)
        return await _end(scene, app, clients, stuck_at, starved)


async def _serve(scene: Scene, command: str) -> Workers:
    async with scene.launch(command) as app:
        clients = Clients(app)
        await _wait_instances(scene, app, 2)
        before = app.starved
        clients.start(4, rate=20)
        await clients.wait_answered(60)
        return await _end(scene, app, clients, time.monotonic(), max(0, app.starved - before))


renewed = playing(_renew)
limited = playing(_limit)
stuck = playing(_get_stuck, at_once=6)
under_hypercorn = playing(lambda scene: _serve(scene, HYPERCORN[scene.backend]))

Runs = Callable[[str, str], Workers]


def on_asyncio(test: Any) -> Any:
    """Once for each transport and each of asyncio's loops: what knows no trio."""
    for name, values in (("transport", TRANSPORTS.values()), ("backend", GUNICORN)):
        test = pytest.mark.parametrize(name, values)(test)
    return covers("P04")(test)


@on_asyncio
def test_gunicorns_workers_are_replaced_without_a_loss(transport: str, backend: str, renewed: Runs) -> None:
    run = renewed(transport, backend)
    run.ended.check()
    run.check(at_least=4)
    assert set(run.ended.reports.instances.values()) == booted(run.ended.output)


@on_asyncio
def test_workers_of_a_preloaded_application_that_serve_so_many_requests_and_end(
    transport: str, backend: str, limited: Runs
) -> None:
    run = limited(transport, backend)
    run.ended.check()
    run.check(at_least=4)
    # the last one may have been asked to end before it could report
    assert set(run.ended.reports.instances.values()) <= booted(run.ended.output)


@on_asyncio
def test_a_stuck_worker_that_is_killed_loses_no_more_than_its_last_second(
    transport: str, backend: str, stuck: Runs
) -> None:
    run = stuck(transport, backend)
    run.ended.check_records()
    run.check(at_least=3)
    run.check_missing()


@each_cell("P04", backend_name="backend")
def test_hypercorns_workers_are_an_instance_each(transport: str, backend: str, under_hypercorn: Runs) -> None:
    run = under_hypercorn(transport, backend)
    run.ended.check_records()
    run.check(at_least=2)
    assert not logged_as_lost(run.ended.output)
    # it kills the other workers as soon as one of them has come to its end
    run.check_missing()
    assert len(run.ended.reports.instances) == 2
