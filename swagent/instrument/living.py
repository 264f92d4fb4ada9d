"""Objects of a library that were made before it was instrumented: the servers of a process to which the agent is
attached while it serves.

A hook wraps what makes such an object, and that is over. Where the search is on, the hook finds the object itself.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Generator

T = TypeVar("T")
_is_on = False


@contextmanager
def searching() -> Generator[None, None, None]:
    """A block in which hooks find such objects. Elsewhere there is none, and no search, which takes some milliseconds
    for each hundred thousand objects."""
    global _is_on  # noqa: PLW0603, RUF100
    _is_on = True
    try:
        yield
    finally:
        _is_on = False


def living(kind: type[T]) -> list[T]:
    """The objects of a class, or of one that is derived from it; none outside of such a block.

    Those that `gc.freeze()` has hidden are not found.
    """
    return find(kind) if _is_on else []


def find(kind: type[T]) -> list[T]:
    """The objects of a class, in such a block or not."""
    # those of the class alone: a list of all objects would keep what the application drops meanwhile, and let its
    # `finally` blocks run here, in another thread
    found: list[Any] = [each for each in gc.get_referrers(kind) if type(each) is kind]
    for derived in type.__subclasses__(kind):
        found += find(derived)
    return found
