"""Finds the accelerator, the optional distribution `swagent-native`.

It has the fast paths of requests, logs and spans in C. Python has the same paths, and is the only source of templates
and of everything unusual: an agent behaves alike with the accelerator and without.

Modules choose their classes when they are imported, so the choice is made once, before any `Config` is there, and by
the environment alone. `Config` knows the variable as well: it documents it, and refuses a value that has no meaning.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType

API = 17
VARIABLE = "SW_AGENT_NATIVE"
CHOICES = ("auto", "off")


def load() -> tuple[ModuleType | None, str]:
    """The accelerator, or None and the reason."""
    wanted = os.environ.get(VARIABLE, "").strip().lower() or "auto"
    if wanted != "auto":
        return None, f"{VARIABLE} is {wanted}" if wanted in CHOICES else f"{VARIABLE} is none of {', '.join(CHOICES)}"
    if sys.implementation.name != "cpython":
        return None, f"it is for CPython, and this is {sys.implementation.name}"
    if "free-threading" in sys.version:
        return None, "it needs the global lock, and this is a free-threaded build"
    try:
        import swagent_native  # noqa: PLC0415, RUF100  (optional)
    except ImportError as error:
        is_missing = error.name == "swagent_native"
        return None, "swagent-native is not installed" if is_missing else f"swagent-native cannot be loaded: {error}"
    if swagent_native.API != API:
        return None, f"swagent-native is of another version: API {swagent_native.API} instead of {API}"
    return swagent_native, ""


native, reason = load()
"""The accelerator; None, and the reason why Python does its work."""


def describe(wanted: str = "auto") -> str:
    """Which implementation runs in this process, and why.

    :param wanted: the setting, as `Config` has it: in code or in a file it comes too late
    """
    if native is None:
        return f"Python ({reason})"
    if wanted == "off":
        return f"the accelerator (to switch it off, {VARIABLE} has to be in the environment)"
    return "the accelerator"
