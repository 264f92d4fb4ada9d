"""A callback that may be late is in C what it is in Python; and freed objects are used again."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from swagent.acceleration import native, reason
from swagent.profile.asyncio_steps import AsyncioSteps, _Late, _StepsState

if native is None:
    pytest.skip(reason, allow_module_level=True)


def kinds() -> list[tuple[Any, Callable[..., Any]]]:
    loop = asyncio.new_event_loop()
    loop.close()
    assert native is not None
    return [(AsyncioSteps(loop), native.Late), (_StepsState(), _Late)]


def test_while_it_is_called_the_steps_have_it() -> None:
    for steps, late_type in kinds():
        seen: list[object] = []

        def callback(*args: object, steps: Any = steps, seen: list[object] = seen) -> str:
            seen.append((args, steps.late))
            return "done"

        late = late_type(steps, callback, 1.5, None)
        assert (late.callback, late.due, late.seconds, repr(late)) == (callback, 1.5, None, repr(callback))
        assert steps.late is None
        assert late("one", 2) == "done"
        assert seen == [(("one", 2), late)]
        assert steps.late is None


def test_a_cycle_through_it_is_collected() -> None:
    class Holder:
        late: Any = None

        def method(self) -> None: ...

    for steps, late_type in kinds():
        holder = Holder()
        holder.late = late_type(steps, holder.method, 1.5, 0.5)
        is_alive = weakref.ref(holder)
        del holder
        gc.collect()
        assert is_alive() is None
