"""A run from its start to its end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from swagent.signals import Signal

from .cells import Cell
from .evidence import Ending, Evidence, read_last_sample, read_names, read_output, read_samples
from .faults import World, inflict
from .load import wait_served
from .places import Place, build
from .plan import Kind, Step
from .servers import SETTINGS, serve_http, start_servers
from .sinks import Sink
from .verdict import LONGEST_RECOVERY

_EMPTYING = 10.0
_POLL = 0.25
# Records that wait in the best of times: single ones, and those of so many seconds.
_FEW, _FEW_SECONDS = 10, 4
# A fault is felt for so long after its end.
_AFTERMATH = 2.0


async def soak(
    cells: Sequence[Cell], plan: Sequence[Step], seconds: float, rate: float, folder: Path, *, has_everything: bool
) -> list[Evidence]:
    """Run the plan, and bring in what was seen.

    :param seconds: how long the load lasts at least
    :param rate: requests per second, for each application
    :param has_everything: the applications call real servers, and are profiled
    """
    with ExitStack() as stack:
        environ: dict[str, str] = {}
        if has_everything:
            servers = await asyncio.to_thread(start_servers, stack)
            stack.callback((await serve_http(servers)).close)
            environ = {**servers.environ(), **SETTINGS}
        places = build(cells, rate, folder, stack, environ)
        sinks = list(dict.fromkeys(place.sink for place in places))
        world = World(sinks, [place.proxy for place in places], [place.application for place in places])
        try:
            await _start(places, sinks)
            recoveries = await _go_through(plan, seconds, places, world)
            endings = await _stop(places)
            return [
                await asyncio.to_thread(collect, place, world, recovered, ending)
                for place, recovered, ending in zip(places, recoveries, endings, strict=True)
            ]
        finally:
            for place in places:
                await place.proxy.stop()


async def _start(places: Sequence[Place], sinks: Sequence[Sink]) -> None:
    await asyncio.gather(*(asyncio.to_thread(sink.start) for sink in sinks))
    for place in places:
        await place.proxy.start()
        place.application.start()
    for place in places:
        await wait_served(place.application.port)


async def _go_through(
    plan: Sequence[Step], seconds: float, places: Sequence[Place], world: World
) -> list[float | None]:
    """The load, and all faults one after the other.

    :returns: how long each took to recover from the last of them
    """
    loads = [asyncio.create_task(place.load.run()) for place in places]
    began = time.monotonic()
    for step in plan:
        await asyncio.sleep(began + step.at - time.monotonic())
        await inflict(step, world)
    recovering = asyncio.gather(*(_recovery(place, time.monotonic()) for place in places))
    await asyncio.sleep(began + seconds - time.monotonic())
    recoveries = await recovering
    for place in places:
        place.load.stop()
    await asyncio.gather(*loads)
    await asyncio.gather(*(_emptied(place) for place in places))
    return recoveries


async def _recovery(place: Place, since: float) -> float | None:
    """Seconds until new records are confirmed and old ones wait no more; None: it took too long."""
    base: int | None = None
    while time.monotonic() < since + LONGEST_RECOVERY + _POLL:
        sample = await asyncio.to_thread(read_last_sample, place.application.samples)
        if sample is not None and sample.at >= since:
            confirmed = sample.ledgers[Signal.SEGMENT].confirmed
            base = confirmed if base is None else base
            if confirmed > base and sample.waiting <= _FEW + _FEW_SECONDS * place.rate:
                return sample.at - since
        await asyncio.sleep(_POLL)
    return None


async def _emptied(place: Place) -> None:
    """Let the last batches go out: what is to be judged is the run, and not how it was cut off."""
    since = time.monotonic()
    while time.monotonic() < since + _EMPTYING:
        sample = await asyncio.to_thread(read_last_sample, place.application.samples)
        if sample is not None and sample.at >= since and not sample.waiting:
            return
        await asyncio.sleep(_POLL)


async def _stop(places: Sequence[Place]) -> list[Ending]:
    since = [place.application.ask_to_stop() for place in places]
    waits = zip(places, since, strict=True)
    return await asyncio.gather(*(asyncio.to_thread(place.application.wait_stopped, at) for place, at in waits))


def collect(place: Place, world: World, recovered: float | None, ending: Ending) -> Evidence:
    """All that was seen of one cell, once its application has ended."""
    application, load = place.application, place.load
    complaints, log = read_output(application.output)
    evidence = Evidence(
        place.cell,
        asked=load.asked,
        answered=load.answered,
        failures=load.failures,
        samples=read_samples(application.samples),
        confirmed=read_names(application.confirmed),
        seen=place.sink.names(place.cell),
        recovered=recovered,
        complaints=complaints,
        log=log,
        ending=ending,
    )
    for due, latency in zip(load.due, load.latencies, strict=True):
        felt = [window.step.kind for window in world.windows if window.begin - 1 <= due <= window.end + _AFTERMATH]
        if Kind.APP_FROZEN not in felt:
            (evidence.troubled if felt else evidence.calm).append(latency)
    return evidence
