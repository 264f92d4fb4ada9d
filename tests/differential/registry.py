"""All worlds, and which of them there are on this machine."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules

from differential import worlds
from differential.program import World


def all_worlds() -> dict[str, World]:
    """By name."""
    found = {}
    for module in iter_modules(worlds.__path__):
        for world in import_module(f"differential.worlds.{module.name}").WORLDS:
            found[world.name] = world
    return found


def missing(world: World) -> list[str]:
    """The modules that it needs and that are not here."""
    needed = (*world.modules, *(loop for loop in world.loops if loop))
    # a module that another test has imported is here, and may have no spec: kombu's takes its own place without one
    return [name for name in needed if name not in sys.modules and find_spec(name) is None]
