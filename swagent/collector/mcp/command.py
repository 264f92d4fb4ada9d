"""`swagent collector --mcp`: a collector as ever, that also answers at its stdin and stdout.

An editor starts one for each of its windows. The first one is the collector; the others ask it, and so does one that is
started beside a collector of the user's.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio.to_thread

from ..api.queries import queries
from ..api.query_thread import QueryThread
from ..store.database import StoreError
from .asking import Ask, OtherCollector, OwnStore
from .serving import serve_stdio

if TYPE_CHECKING:
    from ..server import Collector


async def serve(start: Callable[[], Collector], page: str, stopping: asyncio.Event) -> int:
    """Serve until the client closes stdin, or until the signal to stop.

    :param start: makes the collector
    :param page: `host:port` of the page of a collector that may run already
    :param stopping: set by the signal
    :returns: the exit status: 0, or 1 where what arrived could not be written
    :raises OSError: when it cannot listen, and no collector answers
    :raises StoreError: when the store cannot be opened, and no collector answers
    """
    collector: Collector | None = None
    try:
        collector = start()
        await collector.start()
    except (OSError, StoreError):
        if collector is not None:
            collector.store.close()
        other = OtherCollector(page)
        if not await anyio.to_thread.run_sync(other.is_there):
            raise
        _say(f"the collector at http://{page} is asked")
        await _until_ended(other, stopping, None)
        return 0
    _say(
        f"listening on {collector.address}"
        + (f", page at http://{collector.page_address}/" if collector.page_address else "")
    )
    return await _until_ended(OwnStore(queries(collector.store), QueryThread()), stopping, collector)


async def _until_ended(ask: Ask, stopping: asyncio.Event, collector: Collector | None) -> int:
    serving, stopped = asyncio.create_task(serve_stdio(ask)), asyncio.create_task(stopping.wait())
    await asyncio.wait((serving, stopped), return_when=asyncio.FIRST_COMPLETED)
    status = 0 if collector is None else await _conclude(collector)
    if not serving.done():
        # a thread waits for stdin, and nothing interrupts it
        os._exit(status)
    stopped.cancel()
    serving.result()
    return status


async def _conclude(collector: Collector) -> int:
    await collector.stop()
    status = 0
    try:
        collector.store.commit()
    except StoreError as error:  # it was not confirmed to any agent
        _say(str(error))
        status = 1
    collector.store.close()
    return status


def _say(text: str) -> None:
    print(f"swagent collector: {text}", file=sys.stderr, flush=True)
