"""Functions that are called whenever an agent has started in this process."""

from __future__ import annotations

from collections.abc import Callable

_calls: list[Callable[[], object]] = []


def at_start(call: Callable[[], object]) -> None:
    """Have a function called. It must not raise. A second time, this does nothing."""
    if call not in _calls:
        _calls.append(call)


def note_start() -> None:
    """An agent has started."""
    for call in [*_calls]:
        call()
