"""Keeps a child task alive, and keeps its failures from the application.

Only a real cancellation gets out. Everything else is counted as a crash, logged, and answered by a restart after a
backoff; a child that crashes again and again is switched off, visibly. A structured-concurrency agent without this
would cancel the application that it observes: an exception in a child cancels the whole task group, the host's body
included.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence

import anyio

from ._backend import cancelled_by_scope, cancelled_natively
from ._log import LimitedLog, log
from .pipeline.failover import Backoff

MAX_CRASHES = 5
CRASH_WINDOW = 60.0
_BACKOFF = Backoff(base=1.0, factor=2.0, cap=60.0)


async def supervise(
    child: Callable[[], Awaitable[None]], name: str, limited: LimitedLog, switch_off: Callable[[], object]
) -> None:
    """Run a child until it returns, however often it crashes, or until it crashed 5 times within 60 seconds.

    :param child: started anew after each crash
    :param switch_off: called when the child is given up
    """
    crashes: deque[float] = deque(maxlen=MAX_CRASHES)
    while True:
        try:
            await child()
        except anyio.get_cancelled_exc_class() as error:
            if cancelled_by_scope():
                raise
            if cancelled_natively():
                # Someone swept up all tasks of the loop. Letting the error out would cancel our task group and with it
                # the host; ending quietly leaves the last flush to the host's own task.
                log.debug("%s was cancelled from outside", name)
                return
            crash: BaseException = error
        except BaseException as error:  # noqa: BLE001, RUF100  (sorted out below)
            if _holds(error, _is_exit) or (_holds(error, _is_cancellation) and cancelled_by_scope()):
                raise
            crash = error
        else:
            return
        crashes.append(anyio.current_time())
        if len(crashes) == MAX_CRASHES and crashes[-1] - crashes[0] < CRASH_WINDOW:
            log.error("%s crashed %d times in a minute and is switched off", name, MAX_CRASHES, exc_info=crash)
            switch_off()
            return
        limited.warn(f"crash of {name}", "%s crashed and is started again: %r", name, crash)
        await anyio.sleep(_BACKOFF.delay(len(crashes), lambda: 1.0))


def _holds(error: BaseException, kind: Callable[[BaseException], bool]) -> bool:
    """Whether an error is of a kind, alone or within a group."""
    members: Sequence[BaseException] | None = getattr(error, "exceptions", None)
    return kind(error) if members is None else any(_holds(member, kind) for member in members)


def _is_exit(error: BaseException) -> bool:
    """Whether the process was told to end (Ctrl-C, sys.exit)."""
    return not isinstance(error, Exception) and not _is_cancellation(error)


def _is_cancellation(error: BaseException) -> bool:
    return isinstance(error, anyio.get_cancelled_exc_class())
