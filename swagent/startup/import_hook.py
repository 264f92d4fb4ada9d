"""Functions that are called when a module has been imported.

Theory of operation
-------------------
A finder in front of the others sees the name of each module that is about to be imported. Where any function waits for
it, the finder lets the others find the module, and puts a loader of ours before theirs. That one gives its place back,
lets theirs execute the module, and then calls the functions. So nothing of ours is left on a module.

A function may import, and another thread may import the same module meanwhile. So no lock is held while one is called.
"""

from __future__ import annotations

import sys
from _thread import get_ident

from ..built_in import unseen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

    Hook = Callable[[Any], object]


_waiting: dict[str, list[Hook]] = {}
# The modules that our loader executes just now: it calls what waits for them at the end of that.
_executing: set[str] = set()
# Those that see each name, until one of them wants no more.
_watching: list[Callable[[str], object]] = []


def when_imported(name: str, hook: Hook) -> None:
    """Have a function called with a module once it is imported; now, if it is.

    :param hook: must not raise: it would be the application's import
    """
    module = sys.modules.get(name)
    # one that is being executed, and not by our loader, is as complete as it will be seen
    if module is not None and name not in _executing:
        hook(module)
        return
    _waiting.setdefault(name, []).append(hook)
    _attach()


def watch_names(look: Callable[[str], object]) -> None:
    """Have a function called with the name of each module that is about to be imported for the first time.

    :param look: must not raise
    """
    _watching.append(look)
    _attach()


def stop_watching(look: Callable[[str], object]) -> None:
    """Call it no more. A second call does nothing."""
    if look in _watching:
        _watching.remove(look)


def serve_package(name: str, find: Callable[[str], ModuleSpec | None], *, instead: bool = False) -> None:
    """Have the modules of a package found by a function: those that no other finder finds.

    :param name: of the package, without a dot
    :param find: gets the whole name of a module
    :param instead: also where others would find it
    """
    _served[name] = find
    _attach()
    if _LAST in sys.meta_path:
        if not instead:
            return
        sys.meta_path.remove(_LAST)
    sys.meta_path.insert(sys.meta_path.index(_FINDER) + 1 if instead else len(sys.meta_path), _LAST)


def pause() -> None:
    """See no import until `resume`: what waits for one goes on waiting."""
    # it stays where it is: a thread that goes through the finders just now would miss the one behind it
    _FINDER.is_paused = True


def resume() -> None:
    """See the imports again. A second call does nothing."""
    _FINDER.is_paused = False
    _attach()


class acting_for_ourselves:  # noqa: N801  (used as a function is; `contextlib` takes as long as all of this)
    """A block in which this thread acts on behalf of the agent: an import of ours is no need of the application's."""

    def __enter__(self) -> None:
        thread = get_ident()
        _depths[thread] = _depths.get(thread, 0) + 1

    def __exit__(self, *_: object) -> None:
        thread = get_ident()
        _depths[thread] -= 1
        if not _depths[thread]:
            del _depths[thread]


class importing_for_ourselves(acting_for_ourselves):  # noqa: N801  (as above)
    """As that, and all that is imported in the block is there for the agent."""

    def __enter__(self) -> None:
        super().__enter__()
        self._before = frozenset(sys.modules)

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        for name in sys.modules.keys() - self._before:
            _ours.setdefault(name, sys.modules.get(name))


def note_ours(before: Container[str]) -> None:
    """All that was imported since then was imported for the agent.

    :param before: the names of the modules that were there
    """
    for name, module in [*sys.modules.items()]:
        if name not in before:
            _ours.setdefault(name, module)


def is_for_ourselves() -> bool:
    """Whether this thread is in such a block."""
    return get_ident() in _depths


def is_our_import(name: str) -> bool:
    """Whether a module is there since the agent has imported it."""
    return name in _ours and sys.modules.get(name) is _ours[name]


def is_being_imported(module: ModuleType) -> bool:
    """Whether it is executed just now, so that another importer would find only a part of it."""
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


# How many such blocks each thread is in.
_depths: dict[int, int] = {}
_ours: dict[str, ModuleType | None] = {}
# By the name of a package, what finds its modules.
_served: dict[str, Callable[[str], ModuleSpec | None]] = {}


class _Finder:
    """Stands in front of the other finders, and finds nothing by itself."""

    is_paused = False

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """What the others find, with a loader that calls the functions; None: nothing waits for this module."""
        if _FINDER.is_paused:
            return None
        for look in [*_watching]:
            look(name)
        if not _waiting.get(name):
            return None
        spec = _found_by_others(name, path, target)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader)  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]
        return spec


class _Last:
    """Finds the packages that are served here."""

    @staticmethod
    def find_spec(name: str, *_: object) -> ModuleSpec | None:
        """What serves the package finds; None: it is no such package."""
        find = _served.get(name.partition(".")[0])
        return find(name) if find is not None else None


class _Loader:
    """Has the place of a module's own loader until that one executes the module."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """As the module's own loader does."""
        found: ModuleType | None = self._loader.create_module(spec)
        return found

    @unseen
    def exec_module(self, module: ModuleType) -> None:
        """Let the module's own loader execute it, then call what waits for it."""
        spec: Any = module.__spec__
        if spec is not None and spec.loader is self:
            spec.loader = self._loader
        if getattr(module, "__loader__", None) is self:
            module.__loader__ = self._loader
        name = spec.name if spec is not None else module.__name__
        _executing.add(name)
        try:
            self._loader.exec_module(module)
            _call_waiting(name, module)
        finally:
            _executing.discard(name)
        # of a thread that still saw it in there
        _call_waiting(name, module)

    def __getattr__(self, name: str) -> Any:
        # what others ask a loader for, such as the source
        return getattr(self._loader, name)


def _call_waiting(name: str, module: ModuleType) -> None:
    """Call what waits for a module, also what begins to wait for it meanwhile."""
    # with a module that has put another object in its place, as that is what the application gets
    module = sys.modules.get(name, module)
    while hooks := _waiting.pop(name, None):
        for hook in hooks:
            hook(module)


def _found_by_others(name: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
    is_behind = False
    for finder in [*sys.meta_path]:
        if finder is _FINDER:
            is_behind = True
        elif is_behind and hasattr(finder, "find_spec"):
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                return spec
    return None


_FINDER: Any = _Finder()
_LAST: Any = _Last()


def _attach() -> None:
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
