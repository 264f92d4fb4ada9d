"""Virtual time for a test on asyncio and on trio: `@on_virtual_clocks`, and what such a test asks its clock."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import sniffio
import trio
from trio.testing import MockClock

from kit.virtual_loop import VirtualLoop


def virtual_asyncio() -> Any:
    """The asyncio backend, on a clock that jumps to the next timer whenever all tasks wait.

    Not in its debug mode, in which each of the many timers of an hour takes a stack along.
    """
    return "asyncio", {"loop_factory": VirtualLoop}


def virtual_trio() -> Any:
    """The same of trio."""
    return "trio", {"clock": MockClock(autojump_threshold=0)}


VIRTUAL_CLOCKS: list[Any] = [pytest.param(virtual_asyncio(), id="asyncio"), pytest.param(virtual_trio(), id="trio")]
on_virtual_clocks = pytest.mark.parametrize("anyio_backend", VIRTUAL_CLOCKS)
"""uvloop is missing: its clock is libuv's, and nothing can replace it. The tests of a process share trio's clock. It
goes on where the test before has left it, so compare differences."""


def virtual_now() -> float:
    """The time by the running loop's clock: for an agent's `clock`, in tasks and callbacks alike."""
    try:
        return asyncio.get_running_loop().time()
    except RuntimeError:
        return trio.current_time()


def is_virtual() -> bool:
    """Whether the running loop has a clock that jumps; false where no loop runs."""
    try:
        return isinstance(asyncio.get_running_loop(), VirtualLoop)
    except RuntimeError:
        return trio.lowlevel.in_trio_run() and isinstance(trio.lowlevel.current_clock(), MockClock)


def jump(seconds: float) -> None:
    """Set the running loop's virtual clock forward, as a step does that holds the loop for so long."""
    if sniffio.current_async_library() == "trio":
        clock: Any = trio.lowlevel.current_clock()
        clock.jump(seconds)
        return
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    loop.jump(seconds)
