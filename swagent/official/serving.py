"""The package `skywalking`: which of its modules there are, and which of ours each of them is."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType

from ..startup.import_hook import importing_for_ourselves, serve_package

PACKAGE = "skywalking"
_HERE = __name__.rpartition(".")[0]
# Packages are made anew, with all public names of ours, since their submodules have other files than ours. Other
# modules are ours, under one more name: what an application sets in one of them is set.
_PACKAGES = {PACKAGE: "model", f"{PACKAGE}.trace": "ids", f"{PACKAGE}.meter": "meters"}
_MODULES = {
    f"{PACKAGE}.agent": "agent",
    f"{PACKAGE}.config": "config",
    f"{PACKAGE}.decorators": "decorators",
    f"{PACKAGE}.trace.carrier": "carrier",
    f"{PACKAGE}.trace.context": "context",
    f"{PACKAGE}.trace.snapshot": "snapshot",
    f"{PACKAGE}.trace.span": "span",
    f"{PACKAGE}.trace.tags": "tags",
    f"{PACKAGE}.meter.counter": "meters",
    f"{PACKAGE}.meter.gauge": "meters",
    f"{PACKAGE}.meter.histogram": "meters",
    f"{PACKAGE}.meter.meter": "meters",
}


def serve() -> None:
    """Let `import skywalking` find the modules of this package, also where the official agent is installed. Call it
    before the first of these imports. A second call does nothing."""
    serve_package(PACKAGE, find, instead=True)


def find(name: str) -> ModuleSpec | None:
    """The module of that name.

    :raises ModuleNotFoundError: a part of the official agent that is not served
    """
    if name in _PACKAGES or name in _MODULES:
        return ModuleSpec(name, _Loader(), is_package=name in _PACKAGES)
    raise ModuleNotFoundError(f"swagent serves no module {name!r} of the official agent", name=name)


class _Loader(Loader):
    """Makes a package, or puts a module of ours in the place of the one that is imported."""

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """None: an empty module, as usual."""

    def exec_module(self, module: ModuleType) -> None:
        """Import our module, and let the application have its names, or the module itself."""
        name = module.__name__
        with importing_for_ourselves():
            ours = import_module(f"{_HERE}.{_PACKAGES.get(name) or _MODULES[name]}")
        if name in _MODULES:
            sys.modules[name] = ours
            return
        for public in (each for each in vars(ours) if not each.startswith("_")):
            setattr(module, public, getattr(ours, public))
