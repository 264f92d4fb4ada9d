"""An agent with nothing to report lets its loop sleep: nothing polls, whatever the transport."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from typing import Any

import anyio
import pytest
import sniffio
import trio

from kit.sinks import sink_of
from swagent import Agent, Config, local_span

pytestmark = [
    pytest.mark.anyio,
    # uvloop has no place where its rounds can be counted; the agent's code is the same there
    pytest.mark.parametrize(
        "anyio_backend",
        [pytest.param(("asyncio", {"loop_factory": asyncio.SelectorEventLoop}), id="asyncio"), "trio"],
    ),
]
IDLE = 1.0
# the end of our own sleep, and timers that were cut into pieces on their way to the clock's precision
FEW = 5


class _Rounds(trio.abc.Instrument):
    count = 0

    def after_io_wait(self, timeout: float) -> None:
        self.count += 1


@contextmanager
def counted_rounds() -> Iterator[Callable[[], int]]:
    """How often the running loop wakes up within the block."""
    if sniffio.current_async_library() == "trio":
        rounds = _Rounds()
        trio.lowlevel.add_instrument(rounds)
        try:
            yield lambda: rounds.count
        finally:
            trio.lowlevel.remove_instrument(rounds)
        return
    selector: Any = asyncio.get_running_loop()._selector  # type: ignore[attr-defined]
    select, count = selector.select, 0

    def counting(timeout: float | None = None) -> Any:
        nonlocal count
        count += 1
        return select(timeout)

    selector.select = counting
    try:
        yield lambda: count
    finally:
        del selector.select


async def rounds_while_idle() -> int:
    with counted_rounds() as rounds:
        await anyio.sleep(IDLE)
        return rounds()


@pytest.mark.gate
async def test_an_idle_agent_does_not_wake_the_loop() -> None:
    with ExitStack() as ends:
        sinks = [ends.enter_context(sink_of(transport)) for transport in ("grpc", "http", "kafka")]
        async with AsyncExitStack() as stack:
            agents = [await stack.enter_async_context(Agent(Config(service="shop", **each.settings))) for each in sinks]
            with local_span("work"):
                pass
            for agent in agents:
                assert await agent.flush(10)
            # what a flush leaves to do, such as to let go of connections, is over soon
            await anyio.sleep(0.2)
            # or less soon, on a busy machine; who polls does so all the time
            windows = [await rounds_while_idle()]
            while windows[-1] > FEW and len(windows) < 5:
                windows.append(await rounds_while_idle())
            assert windows[-1] <= FEW, windows
