"""Finds the accelerator, the optional distribution `swagent-native`.

It has the fast paths of requests, logs and spans in C. Python has the same paths, and is the only source of templates
and of everything unusual: an agent behaves alike with the accelerator and without.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType

_API = 1
VARIABLE = "SW_AGENT_NATIVE"
_OFF = frozenset({"off", "false", "0", "no", "f"})


def _load() -> tuple[ModuleType | None, str]:
    """The accelerator, or None and the reason."""
    if os.environ.get(VARIABLE, "").strip().lower() in _OFF:
        return None, f"{VARIABLE} switches it off"
    if sys.implementation.name != "cpython":
        return None, f"it is for CPython, and this is {sys.implementation.name}"
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return None, "this interpreter has no global lock"
    try:
        import swagent_native  # noqa: PLC0415, RUF100  (optional)
    except ImportError as error:
        return None, f"swagent-native is not installed ({error})"
    if swagent_native.API != _API:
        return None, f"swagent-native is of another version: API {swagent_native.API} instead of {_API}"
    return swagent_native, ""


native, reason = _load()
"""The accelerator; None, and the reason why Python does its work."""
