"""The description of an instrumentation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

from .patches import Patches

STANDARD_LIBRARY = "-"
"""In place of the distribution of a module that comes with Python and has no version of its own."""

Hook = Callable[[ModuleType, Patches], None]


@dataclass(frozen=True)
class Instrumentation:
    """A library, the versions of it that are known, and the hook that makes it record."""

    name: str
    """By which it is switched and reported, such as `httpx`."""
    module: str
    """The module whose import calls the hook."""
    hook: Hook
    """Gets the module, and replaces what it must through the patches. It may raise; then nothing is replaced."""
    distribution: str = ""
    """On the package index; several that bring the same module with a blank between them. Empty: the first part of the
    module's name; `-`: it comes with Python."""
    versions: str = ""
    """Those that were tested, as a specifier: `>=0.24,<1`. Empty: any."""
    plugins: tuple[str, ...] = ()
    """The official agent's plugins that it takes the place of, such as `sw_httpx`."""
    also: tuple[str, ...] = ()
    """More modules whose import calls the hook, each with patches of its own."""
    opentelemetry: tuple[str, ...] = ()
    """The OpenTelemetry instrumentations that it makes unnecessary, by their entry points' names."""

    shows_calls: bool = False
    """Whether it shows each call to the listeners that its patches have."""

    @property
    def package(self) -> str:
        """The distribution's name on the index."""
        return self.distribution or self.module.partition(".")[0]
