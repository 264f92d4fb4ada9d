"""Replaces a function by one of the agent's, and takes it out again, even if others replaced it meanwhile."""

from __future__ import annotations

import functools

from ...built_in import unseen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any


class Patch:
    """One replaced method or function. Apply and remove it from one thread at a time; calls may come from any."""

    def __init__(self, owner: type | ModuleType, name: str, wrap: Callable[[Patch], Callable[..., object]]) -> None:
        """
        :param wrap: makes the replacement, which calls `patch.original` at each call and nothing else once
            `patch.is_active` is False
        """
        self._owner = owner
        self._name = name
        self._wrap = wrap
        self._wrapper: Callable[..., object] | None = None
        self.original: Callable[..., object] = getattr(owner, name)
        self.is_active = False

    def apply(self) -> None:
        """Put the replacement in place, around whatever is there."""
        if self.is_active:
            return
        self.original = _living(getattr(self._owner, self._name))
        self._wrapper = functools.update_wrapper(unseen(self._wrap(self)), self.original)
        # by this mark a patch finds others of its kind, see _living
        wrapper: Any = self._wrapper
        wrapper._swagent_patch = self  # noqa: SLF001
        self.is_active = True
        setattr(self._owner, self._name, self._wrapper)
        _applied.append(self)

    def remove(self) -> None:
        """Take it out. If another replacement came since, that one stays, and our function, which it calls, only
        passes calls on."""
        if not self.is_active:
            return
        self.is_active = False
        if self in _applied:
            _applied.remove(self)
        if getattr(self._owner, self._name) is self._wrapper:
            setattr(self._owner, self._name, _living(self.original))
        for other in _applied:
            other.original = _living(other.original)


_applied: list[Patch] = []


def _living(function: Callable[..., object]) -> Callable[..., object]:
    """The function behind those of our replacements that were taken out but could not be removed at the time."""
    while isinstance(patch := getattr(function, "_swagent_patch", None), Patch) and not patch.is_active:
        function = patch.original
    return function
