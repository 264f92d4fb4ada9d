"""The event loops that the agent supports, as values of the parameter `anyio_backend`."""

from __future__ import annotations

import asyncio
import math
from typing import Any


def _selector_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.SelectorEventLoop()
    # how long a step takes is the machine's doing, and tests that read logs read what the debug mode says of it
    loop.slow_callback_duration = math.inf
    return loop


LOOPS: dict[str, tuple[str, dict[str, Any]]] = {
    "asyncio": ("asyncio", {"debug": True, "loop_factory": _selector_loop}),
    "uvloop": ("asyncio", {"use_uvloop": True}),
    "trio": ("trio", {}),
}
