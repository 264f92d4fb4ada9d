"""Switching on the OpenTelemetry instrumentations that are installed: each when its library is imported.

An instrumentation's package imports the library that it is for. So it is not loaded before the application has imported
that library: one that is not used costs nothing.
"""

from __future__ import annotations

import enum
import logging
import os
import re
import sys
import threading
from collections.abc import Collection, Iterable
from importlib.metadata import Distribution, EntryPoint, PackageNotFoundError, distribution, entry_points
from types import ModuleType
from typing import Any, NamedTuple

from ..agent_log import say
from ..startup.entry_points import may_exist
from ..startup.import_hook import is_being_imported, when_imported

GROUP = "opentelemetry_instrumentor"
_DISABLED = "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS"
# Distributions whose names differ from their modules, and whose metadata do not name the modules.
_MODULES = {
    "boto": "boto", "cassandra-driver": "cassandra", "confluent-kafka": "confluent_kafka", "grpcio": "grpc",
    "kafka-python": "kafka", "kafka-python-ng": "kafka", "mysql-connector-python": "mysql.connector",
    "mysqlclient": "MySQLdb", "psycopg2-binary": "psycopg2", "scylla-driver": "cassandra", "tortoise-orm": "tortoise",
}  # fmt: skip
# Of the standard library, where the instrumentation has another name than the module.
_STANDARD = {"urllib": "urllib.request"}
_EXTRA = re.compile(r"""extra\s*==\s*["']instruments(-any|_any)?["']""")


class BridgeState(enum.Enum):
    """The state of an OpenTelemetry instrumentation."""

    ABSENT = "not installed"
    WAITING = "not imported yet"
    ACTIVE = "bridge"
    FOREIGN = "bridge, switched on by the application"
    COVERED = "native"
    OFF = "switched off"
    UNSUPPORTED = "left alone"
    FAILED = "failed"


class BridgeReport(NamedTuple):
    """One OpenTelemetry instrumentation, as `swagent doctor` reports it."""

    name: str
    state: BridgeState
    reason: str
    """Empty where the state says all."""


class Instrumentor:
    """One OpenTelemetry instrumentation in this process."""

    def __init__(self, point: EntryPoint) -> None:
        self.name = point.name
        self.state = BridgeState.WAITING
        self.reason = ""
        self._point = point
        self._is_watched = False
        self._is_wanted = False
        self._needed: list[str] = []
        self._instrumentor: Any = None
        # re-entrant: loading it may import the module that it waits for
        self._lock = threading.RLock()

    def install(self) -> None:
        """Switch it on once its library is imported; now, if it is."""
        with self._lock:
            self._is_wanted = True
            modules, self._needed = _modules_of(self._point)
            self.state, self.reason = BridgeState.WAITING if modules else BridgeState.ABSENT, ""
            is_watched, self._is_watched = self._is_watched, True
        for name in modules:
            if not is_watched:
                when_imported(name, self._imported)
            elif name in sys.modules:
                self._imported(sys.modules[name])

    def leave(self, state: BridgeState, reason: str = "") -> None:
        """Switch it off, or leave it off."""
        with self._lock:
            self._is_wanted = False
            instrumentor, self._instrumentor = self._instrumentor, None
            self.state, self.reason = state, reason
        if instrumentor is not None:
            try:
                instrumentor.uninstrument()
            except Exception as error:  # noqa: BLE001, RUF100  (a foreign package's fault)
                say(logging.WARNING, "the OpenTelemetry instrumentation %s could not be undone: %r", self.name, error)

    def _imported(self, module: ModuleType) -> None:
        """Load it and switch it on, once all that it needs is there. Never raises: it would be the application's
        import."""
        with self._lock:
            if not self._is_wanted or self.state is not BridgeState.WAITING:
                return
            if not all(name == module.__name__ or _is_ready(name) for name in self._needed):
                return
            try:
                self._switch_on()
            except Exception as error:  # noqa: BLE001, RUF100  (whatever is wrong: the library stays as it is)
                self._fail(error)

    def _switch_on(self) -> None:
        # a module that its own instrumentation imports again is not to come here twice
        self.state = BridgeState.ACTIVE
        instrumentor = self._point.load()()
        if instrumentor.is_instrumented_by_opentelemetry:
            self.state = BridgeState.FOREIGN
            return
        conflict = instrumentor._check_dependency_conflicts()  # noqa: SLF001
        if conflict is not None:
            is_there = conflict.found or getattr(conflict, "found_any", None)
            self.state = BridgeState.UNSUPPORTED if is_there else BridgeState.ABSENT
            self.reason = str(conflict) if is_there else ""
            return
        instrumentor.instrument(skip_dep_check=True)
        self._instrumentor = instrumentor

    def _fail(self, error: Exception) -> None:
        self.state, self.reason = BridgeState.FAILED, repr(error)
        say(logging.WARNING, "the OpenTelemetry instrumentation %s cannot be used: %r", self.name, error)


_known: dict[str, Instrumentor] | None = None


def switch_on(covered: Collection[str]) -> None:
    """Switch on every instrumentation that is installed.

    :param covered: those that a native instrumentation makes unnecessary
    """
    disabled = {name.strip() for name in os.environ.get(_DISABLED, "").split(",")}
    for each in _instrumentors():
        if each.name in covered:
            each.leave(BridgeState.COVERED)
        elif each.name in disabled or "*" in disabled:
            each.leave(BridgeState.OFF, f"by {_DISABLED}")
        else:
            each.install()


def switch_off(reason: str) -> None:
    """Let their libraries be as they were."""
    for each in _instrumentors():
        each.leave(BridgeState.OFF, reason)


def reports() -> list[BridgeReport]:
    """The state of each, by name."""
    return [BridgeReport(each.name, each.state, each.reason) for each in _instrumentors()]


def _instrumentors() -> Iterable[Instrumentor]:
    global _known  # noqa: PLW0603, RUF100
    if _known is None:
        # FastAPI brings the API alone, and to read what all distributions say takes long
        points = entry_points(group=GROUP) if may_exist(f"[{GROUP}]".encode()) else ()
        _known = {point.name: Instrumentor(point) for point in sorted(points, key=_name_of)}
    return _known.values()


def _name_of(point: EntryPoint) -> str:
    return point.name


def _modules_of(point: EntryPoint) -> tuple[list[str], list[str]]:
    """The modules whose import it waits for, and those of them that must all be there."""
    required, any_of = _required_by(point.dist) if point.dist is not None else ([], [])
    if not required and not any_of:
        name = _STANDARD.get(point.name, point.name)
        # one for no library in particular has nothing to wait for
        return [name if name.partition(".")[0] in sys.stdlib_module_names else "sys"], []
    needed = [module for name in required for module in _modules_in(name)]
    return list(dict.fromkeys([*needed, *(module for name in any_of for module in _modules_in(name))])), needed


def _required_by(package: Distribution) -> tuple[list[str], list[str]]:
    """The distributions that it instruments, by its own word: those that it needs, and those one of which will do."""
    # which takes as long to import as all of this package
    from packaging.requirements import InvalidRequirement, Requirement  # noqa: PLC0415, RUF100

    all_of: list[str] = []
    any_of: list[str] = []
    for line in package.requires or ():
        found = _EXTRA.search(line)
        if found is not None:
            try:
                (any_of if found[1] else all_of).append(Requirement(line).name)
            except InvalidRequirement:
                continue
    return all_of, any_of


def _is_ready(name: str) -> bool:
    """Whether a module is imported completely: during its import, another importer would find only a part of it."""
    module = sys.modules.get(name)
    return module is not None and not is_being_imported(module)


def _modules_in(name: str) -> list[str]:
    """The modules of a distribution; none where it is not installed."""
    try:
        found = distribution(name)
    except PackageNotFoundError:
        return []
    known = _MODULES.get(name.lower().replace("_", "-"))
    if known is not None:
        return [known]
    listed = (found.read_text("top_level.txt") or "").split()
    if listed:
        return [module for module in listed if not module.startswith("_")] or listed
    parts = {file.parts[0].removesuffix(".py") for file in found.files or () if file.suffix == ".py"}
    return [part for part in sorted(parts) if part.isidentifier()] or [name.replace("-", "_")]
