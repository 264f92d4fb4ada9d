"""The internals of uvloop that are looked at: there are none but its versions. `call_soon` of a loop can be replaced in
one object, and asyncio's tasks find it there."""

from __future__ import annotations

from typing import Any

from .touched import Library

LIBRARY = Library("uvloop", ">=0.17,<1")


def is_uvloop(loop: Any) -> bool:
    """Whether a loop is uvloop's, of a version that was looked at."""
    return type(loop).__module__.partition(".")[0] == "uvloop" and LIBRARY.is_known and hasattr(loop, "__dict__")
