"""Which instrumentations there are, and what became of each in this process."""

from __future__ import annotations

import enum
import itertools
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from ..agent_log import say
from ..errors import ConfigError
from ..startup.entry_points import may_exist
from ..startup.import_hook import acting_for_ourselves, is_being_imported, when_imported
from ..startup.tables import LIBRARIES
from . import gate
from .instrumentation import Instrumentation
from .listeners import Listeners
from .official_agent import watch_for_official_agent
from .patches import Patches

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "swagent.instrumentations"
_OURS = "swagent.instrument.libraries."


class State(enum.Enum):
    """The state of an instrumentation."""

    ABSENT = "not installed"
    WAITING = "not imported yet"
    ACTIVE = "native"
    OFF = "switched off"
    UNSUPPORTED = "left alone"
    FAILED = "failed"


class Report(NamedTuple):
    """One instrumentation, as `swagent doctor` reports it."""

    name: str
    state: State
    reason: str
    """Empty where the state says all."""


_hooks = itertools.count(1)


class Installation:
    """One instrumentation in this process."""

    def __init__(self, instrumentation: Instrumentation) -> None:
        self.instrumentation = instrumentation
        self.state = State.WAITING
        self.reason = ""
        self._is_watched = False
        self._is_wanted = False
        self.hooked = 0
        """The how many-th hook of this process its last one was; 0: none was called yet."""
        self._listeners = Listeners()
        self._patches: dict[str, Patches] = {}
        self._lock = threading.RLock()

    @property
    def is_wanted(self) -> bool:
        """Whether it was asked for, and not switched off since."""
        return self._is_wanted

    def install(self) -> None:
        """Call the hook for each module once it is imported; now, if it is."""
        with self._lock:
            self._is_wanted = True
            if self.state is State.OFF:
                self.state, self.reason = State.WAITING, ""
            modules = (self.instrumentation.module, *self.instrumentation.also)
            was_watched, self._is_watched = self._is_watched, True
        for name in modules:
            if not was_watched:
                when_imported(name, self._hook)
            elif name in sys.modules and not is_being_imported(sys.modules[name]):
                self._hook(sys.modules[name])

    def listen(self, listeners: Listeners) -> None:
        """Show the library's calls to these from now on, and no longer to those before them."""
        with self._lock:
            self._listeners = listeners
            # a test may have taken a module out of there
            hooked = [sys.modules[name] for name in self._patches if name in sys.modules]
            self._undo()
        for module in hooked:
            self._hook(module)

    def switch_off(self, reason: str) -> None:
        """Leave the library alone, or let it be as it was."""
        with self._lock:
            self._is_wanted = False
            self._listeners = Listeners()
            self._undo()
            self.state, self.reason = State.OFF, reason

    def report(self) -> Report:
        """Its state. Whether the library is installed is checked only here, since that takes a while."""
        is_absent = self.state is State.WAITING and not gate.is_installed(self.instrumentation)
        return Report(self.instrumentation.name, State.ABSENT if is_absent else self.state, self.reason)

    def _hook(self, module: ModuleType) -> None:
        """Call the hook for a module that was just imported. Never raises: it would be the application's import."""
        name, patches = module.__name__, Patches(self._listeners)
        with self._lock:
            if not self._is_wanted or name in self._patches:
                return
            problem = gate.why_unsupported(self.instrumentation)
            if problem is not None:
                self._leave_alone(State.UNSUPPORTED, problem)
                return
            self._patches[name] = patches
            self.hooked = next(_hooks)
        # without the lock: a hook may import, and another thread that imports the same may wait for us in here
        try:
            self.instrumentation.hook(module, patches)
        except Exception as error:  # noqa: BLE001, RUF100  (whatever is wrong: the library stays as it is)
            patches.undo()
            self._leave_alone(State.FAILED, f"{name} is not as expected: {error}")
        else:
            self.state, self.reason = State.ACTIVE, ""

    def _undo(self) -> None:
        for patches in self._patches.values():
            patches.undo()
        self._patches.clear()

    def _leave_alone(self, state: State, reason: str) -> None:
        said = self.reason == reason
        self.state, self.reason = state, reason
        if not said:
            say(logging.WARNING, "%s is not recorded: %s", self.instrumentation.name, reason)


_installations: dict[str, Installation] | None = None
_lock = threading.RLock()


def instrument(
    *names: str,
    is_off: Callable[[Instrumentation], str | None] = lambda _: None,
    listeners: Listeners | None = None,
) -> None:
    """Record what the application does with its libraries, from their import on. A second call does nothing but change
    the listeners, where it has any.

    :param names: of instrumentations; none: all
    :param is_off: returns the reason why one is switched off; None: it is not
    :param listeners: functions that get the libraries' calls; None: as before
    :raises ConfigError: there is none of that name, or one does not show its calls
    """
    chosen = _chosen(names)
    if listeners is not None:
        _check_listeners(names)
    watch_for_official_agent()
    for installation in chosen:
        reason = is_off(installation.instrumentation)
        if reason is None:
            if listeners is not None:
                installation.listen(listeners)
            installation.install()
        else:
            installation.switch_off(reason)


def _check_listeners(names: tuple[str, ...]) -> None:
    showing = [each.name for each in known() if each.shows_calls]
    silent = [name for name in names or ("",) if name not in showing]
    if silent:
        raise ConfigError("instrumentation with on_request or on_response", silent[0], ", ".join(showing))


def uninstrument(*names: str) -> None:
    """Restore the libraries. Wrappers that others have put around the agent's meanwhile stay.

    :param names: of instrumentations; none: all
    :raises ConfigError: there is none of that name
    """
    # the last one first: two may have wrapped one function, as those of requests and urllib3 do
    for installation in sorted(_chosen(names), key=lambda each: each.hooked, reverse=True):
        installation.switch_off("by uninstrument()")


def report() -> list[Report]:
    """The state of each instrumentation, by name."""
    return [each.report() for each in _chosen(())]


def recording() -> list[str]:
    """The instrumentations that record by now, by name. Asks for nothing that takes a while."""
    return [each.instrumentation.name for each in _chosen(()) if each.state is State.ACTIVE]


def is_any_wanted() -> bool:
    """Whether any instrumentation was asked for, and not switched off since."""
    return any(each.is_wanted for each in _chosen(()))


def is_off(name: str) -> bool:
    """Whether the instrumentation of this name was switched off."""
    installation = _known().get(name)
    return installation is not None and installation.state is State.OFF


def known() -> list[Instrumentation]:
    """All instrumentations, by name, whatever became of them."""
    return [each.instrumentation for each in _chosen(())]


def active() -> Iterator[Instrumentation]:
    """The instrumentations that record, or will once their library is imported."""
    for each in _chosen(()):
        if each.state in (State.ACTIVE, State.WAITING):
            yield each.instrumentation


def covering() -> Iterator[Instrumentation]:
    """The instrumentations whose library is not to be recorded in another way: those that record or will, and those
    that the user switched off. One that was never requested, or does not fit, prevents nothing.
    """
    for each in _chosen(()):
        if each.state is State.OFF or (each.is_wanted and each.state in (State.ACTIVE, State.WAITING)):
            yield each.instrumentation


def _chosen(names: tuple[str, ...]) -> list[Installation]:
    known = _known()
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ConfigError("instrumentation", unknown[0], ", ".join(sorted(known)))
    return [known[name] for name in sorted(names or known)]


def _known() -> dict[str, Installation]:
    global _installations  # noqa: PLW0603, RUF100
    with _lock:
        if _installations is None:
            _installations = {each.name: Installation(each) for each in (*_of_table(), *_of_others())}
        return _installations


def _of_table() -> Iterator[Instrumentation]:
    """Ours, by their descriptions: the module of each is imported when its hook is called."""
    for name, place, module, also, distribution, versions, plugins, opentelemetry, shows_calls in LIBRARIES:
        yield Instrumentation(
            name, module, _Hook(name, place), distribution, versions, plugins, also, opentelemetry, shows_calls
        )


class _Hook:
    """The hook of an instrumentation of ours, whose module is imported for the first call."""

    def __init__(self, name: str, place: str) -> None:
        self._name = name
        self._place = place

    def __call__(self, module: ModuleType, patches: Patches) -> None:
        where, _, attribute = self._place.partition(":")
        # it may import the agent, which is no wish of a script that imports a library
        with acting_for_ourselves():
            found: Any = getattr(import_module(where), attribute)
        described: tuple[Instrumentation, ...] = (found,) if isinstance(found, Instrumentation) else found
        next(each for each in described if each.name == self._name).hook(module, patches)


def _of_others() -> Iterator[Instrumentation]:
    """Those of other distributions."""
    if not may_exist(f"[{GROUP}]".encode(), leaving_out="swagent-"):
        return
    # it takes a while to import, and few have any
    from importlib.metadata import entry_points  # noqa: PLC0415, RUF100

    for point in entry_points(group=GROUP):
        if not point.value.startswith(_OURS):
            yield from _load(point)


def _load(point: EntryPoint) -> tuple[Instrumentation, ...]:
    """The instrumentations of an entry point: one, or a tuple of them. One that cannot be loaded is logged."""
    try:
        found: Instrumentation | tuple[Instrumentation, ...] = point.load()
    except Exception as error:  # noqa: BLE001, RUF100  (another package's fault is no reason to record nothing)
        say(logging.WARNING, "the instrumentation %s cannot be loaded: %r", point.name, error)
        return ()
    return (found,) if isinstance(found, Instrumentation) else found
