"""The process whose instructions are counted: `python -m stress.cost.process STAGE COLLECTOR BLOCKS SPLIT CASE...`

Runs under callgrind, which counts nothing before it is asked to. Prints one line of JSON: what was done.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import uvloop
from fastapi import FastAPI

from swagent import Agent, Config, acceleration
from swagent.asgi import SkyWalkingMiddleware
from swagent.instrument import instrument
from swagent.signals import Signal

from .calling import with_calls
from .connections import Server
from .counter import Counter
from .requests import CASES, warm_up
from .stages import BARE, STAGES

CLIENTS = ("asyncpg", "httpx")
"""The libraries whose calls are recorded."""
_IDLE_NS = 10_000


def build_app() -> FastAPI:
    """The application of `stress compare`, and one handler more."""
    os.environ.setdefault("COMPARED_UPSTREAM", "http://127.0.0.1:9/")
    from handlers import build

    app: FastAPI = build()
    log = logging.getLogger("counted")
    log.setLevel(logging.INFO)

    @app.get("/info")
    async def info() -> dict[str, bool]:
        log.info("asked")
        return {"ok": True}

    return app


@asynccontextmanager
async def running(stage: str, collector: str, split: int) -> AsyncIterator[tuple[Any, Agent | None]]:
    """The application, and its agent; none at the bare stage.

    :param split: of one in how many requests the time is split
    """
    app = build_app()
    if stage == BARE:
        async with with_calls(app):
            yield app, None
        return
    STAGES[stage].cut()
    # the watch of the loop asks by the clock, and here everything takes fifty times as long
    config = Config(
        service="counted",
        instance="counted-1",
        collector=collector,
        loop_block_limit=0,
        time_split_every=split,
        # of so few requests that one of them would be seen in the count of hundreds
        task_tree_every=0,
    )
    # the clients only: uvicorn's own instrumentation would put another middleware around the application
    instrument(*CLIENTS, config=config)
    async with Agent(config, transport=STAGES[stage].transport) as agent, with_calls(app):
        yield SkyWalkingMiddleware(app, agent=agent), agent


async def count(server: Server, counter: Counter, case: str, blocks: int) -> Sequence[int]:
    """Count some blocks of one case.

    :returns: how often the garbage collector ran meanwhile, by generation
    """
    requests = CASES[case].requests()
    await server.serve(warm_up(requests))
    if CASES[case].freezes:
        gc.collect()
        gc.freeze()
    before = _collections()
    counter.begin()
    for block in range(blocks):
        await server.serve(requests)
        counter.dump(f"{case} {block}")
    counter.end()
    gc.unfreeze()
    return [after - earlier for after, earlier in zip(_collections(), before, strict=True)]


def _collections() -> Sequence[int]:
    return [generation["collections"] for generation in gc.get_stats()]


async def _let_time_pass(counter: Counter) -> None:
    while True:
        await asyncio.sleep(0)
        counter.advance(_IDLE_NS)


async def run(stage: str, collector: str, blocks: int, split: int, cases: Sequence[str]) -> dict[str, Any]:
    """Count each case.

    :returns: what was done, for the one who judges
    """
    counter = Counter()
    async with running(stage, collector, split) as (app, agent):
        server = Server(app, counter)
        collections = {case: await count(server, counter, case, blocks) for case in cases}
        # from here on nothing else moves the clock, and an agent that ends must not wait for ever
        clock = asyncio.create_task(_let_time_pass(counter))
        confirmed = {}
        if agent is not None:
            await agent.flush(60.0)
            statistics = agent.statistics()
            confirmed = {signal.value: statistics[signal].confirmed for signal in (Signal.SEGMENT, Signal.LOG)}
    clock.cancel()
    is_accelerated = acceleration.native is not None
    return {"answered": server.answered, "collections": collections, "is_accelerated": is_accelerated, **confirmed}


def main(arguments: Sequence[str]) -> None:
    """Count, and say what was done."""
    stage, collector, blocks, split, *cases = arguments
    print(json.dumps(uvloop.run(run(stage, collector, int(blocks), int(split), cases))), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
