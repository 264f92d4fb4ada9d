"""The deadline of a call, in a loop that may be held up.

An application may hold its loop for longer than a call may take. When it lets go, the deadline has passed. But the
answer may have been in the socket for a long time, or our own next frame may not have left. So the time for which the
loop was held beyond the deadline is given back, once. When that has passed too, the loop goes round a few times before
the call is judged: in each round it looks at its sockets, and what it finds there reaches the call.
"""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
from anyio import CancelScope

# It takes about five rounds from a socket to its call, and more in some loops. A round costs microseconds.
_ROUNDS = 50
# Seconds by which a timer is late in a loop that is only busy.
_USUAL = 0.02


def _held(began: float, now: float, seconds: float) -> float:
    """For how long the loop was held beyond a deadline, up to what is given back."""
    late = now - began - seconds
    return min(late, seconds) if late > _USUAL else 0.0


async def wait_done(call: asyncio.Future[Any], seconds: float) -> None:
    """Wait until a call has ended, or its time is over. asyncio only. If the wait is cancelled, the call goes on."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    await asyncio.wait({call}, timeout=seconds)
    if not call.done() and (held := _held(began, loop.time(), seconds)):
        await asyncio.wait({call}, timeout=held)
    for _ in range(_ROUNDS):
        if call.done():
            return
        await asyncio.sleep(0)


async def expire(scope: CancelScope, seconds: float, over: anyio.Event) -> None:
    """Cancel a scope when its time is over. On any event loop.

    :param over: ends the wait before that: a task that is cancelled instead leaves its error, its frames and itself
        behind in a cycle, for the garbage collector
    """
    began = anyio.current_time()
    with anyio.move_on_after(seconds):
        await over.wait()
    if held := _held(began, anyio.current_time(), seconds):
        with anyio.move_on_after(held):
            await over.wait()
    for _ in range(_ROUNDS):
        if over.is_set():
            return
        await anyio.lowlevel.checkpoint()
    scope.cancel()
