"""All functions and classes that the agent replaces: found by letting each instrumentation replace them."""

from __future__ import annotations

import functools
import importlib
import inspect
import logging
import os
import subprocess
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

from record.recorded import Recorder
from swagent.asgi import frameworks as asgi_frameworks
from swagent.instrument import Instrumentation, gate
from swagent.instrument.installation import known
from swagent.instrument.patches import Patches
from swagent.record import threads
from swagent.record.logs.capture import LogCapture
from swagent.record.logs.first_record import FirstRecord
from swagent.record.logs.patch import Patch
from swagent.record.logs.settings import LogSettings
from swagent.runtime.closed_descriptors import ClosedDescriptors
from swagent.startup import next_program
from swagent.wsgi import frameworks as wsgi_frameworks

Make = Callable[[Callable[..., Any]], Callable[..., Any]]
AGENT = "the agent"
"""Marks what no instrumentation replaces, but an agent that runs."""


@dataclass
class Replaced:
    """One function, or a class."""

    by: str
    """The instrumentation's name."""
    owner: Any
    name: str
    before: Any
    after: Any
    wrap: Callable[[Any, str, Any], Any] | None
    """Puts the same wrapper around another function: gets an owner, a name and that function. None: it is a class."""

    @property
    def id(self) -> str:
        owner = self.owner.__name__ if isinstance(self.owner, ModuleType) else self.owner.__qualname__
        return f"{self.by}: {owner}.{self.name}"

    @property
    def is_of_class(self) -> bool:
        return not isinstance(self.owner, ModuleType)


@dataclass
class Found:
    """The functions that each instrumentation has replaced."""

    replaced: list[Replaced] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    """For each instrumentation whose library is here; what it does in another way than by replacing is counted, too."""


class _Noting(Patches):
    """Replaces, and remembers what."""

    def __init__(self, by: str, found: Found) -> None:
        super().__init__()
        self._by = by
        self._found = found
        self._is_wrapping = False

    def wrap(self, owner: Any, name: str, make: Make) -> None:
        before = inspect.getattr_static(owner, name, None)
        self._is_wrapping = True
        try:
            super().wrap(owner, name, make)
        finally:
            self._is_wrapping = False

        def wrap(other: Any, other_name: str, function: Any) -> Any:
            setattr(other, other_name, function)
            Patches().wrap(other, other_name, make)
            return inspect.getattr_static(other, other_name)

        after = inspect.getattr_static(owner, name)
        self._found.replaced.append(Replaced(self._by, owner, name, before, after, wrap))
        self._found.counts[self._by] += 1

    def set(self, owner: Any, name: str, value: object) -> None:
        before = inspect.getattr_static(owner, name, None)
        super().set(owner, name, value)
        if not self._is_wrapping:
            self._found.counts[self._by] += 1
            if before is not None:
                self._found.replaced.append(Replaced(self._by, owner, name, before, value, None))

    def on_undo(self, undo: Callable[[], object]) -> None:
        super().on_undo(undo)
        self._found.counts[self._by] += 1


@contextmanager
def all_replaced() -> Iterator[Found]:
    """Everything replaced at once; put back at the end."""
    found, undo = Found(), list[Callable[[], object]]()
    with warnings.catch_warnings():
        # of libraries that are imported here for the first time
        warnings.simplefilter("ignore")
        for instrumentation in known():
            if gate.is_installed(instrumentation) and gate.why_unsupported(instrumentation) is None:
                found.counts[instrumentation.name] = 0
    try:
        for name in found.counts:
            instrumentation = next(each for each in known() if each.name == name)
            for module in _modules_of(instrumentation):
                patches = _Noting(name, found)
                undo.append(patches.undo)
                instrumentation.hook(module, patches)
        undo += _of_the_agent(found)
        undo.append(_of_servers_and_programs(found))
        yield found
    finally:
        while undo:
            undo.pop()()


def _modules_of(instrumentation: Instrumentation) -> Iterator[ModuleType]:
    for name in (instrumentation.module, *instrumentation.also):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                module = importlib.import_module(name)
            except ImportError:
                continue  # of another version, or it needs a library more
        yield module


def _of_the_agent(found: Found) -> Iterator[Callable[[], object]]:
    """The functions that are replaced for as long as an agent runs."""
    found.counts[AGENT] = 0
    wraps: list[tuple[type, str, Callable[[Patch], Callable[..., Any]]]] = [
        (ThreadPoolExecutor, "submit", functools.partial(threads._wrap_submit, threads._take)),
        (threading.Thread, "start", functools.partial(threads._wrap_start, threads._take)),
        (logging.Logger, "callHandlers", LogCapture(_nothing, LogSettings())._wrap),
        (logging.Logger, "callHandlers", FirstRecord(logging.WARNING, "callHandlers", Recorder)._wrap),
    ]
    for owner, name, make in wraps:
        before = inspect.getattr_static(owner, name)
        patch = Patch(owner, name, make)
        patch.apply()
        yield patch.remove

        def wrap(other: Any, other_name: str, function: Any, make: Any = make) -> Any:
            setattr(other, other_name, function)
            Patch(other, other_name, make).apply()
            return inspect.getattr_static(other, other_name)

        found.replaced.append(Replaced(AGENT, owner, name, before, inspect.getattr_static(owner, name), wrap))
        found.counts[AGENT] += 1


def _of_servers_and_programs(found: Found) -> Callable[[], object]:
    """The functions that are replaced where requests are served, under `swagent run`, and in a process whose agent has
    a thread."""
    patches = _Noting(AGENT, found)
    for module, owner, name, note in (
        ("django.core.handlers.wsgi", "WSGIHandler", "resolve_request", wsgi_frameworks._note_route_of_django),
        ("falcon.app", "App", "_get_responder", wsgi_frameworks._note_route_of_falcon),
        ("pyramid.urldispatch", "RoutesMapper", "__call__", wsgi_frameworks._note_route_of_pyramid),
    ):
        noting = functools.partial(wsgi_frameworks._noting, note=note)
        patches.wrap(getattr(importlib.import_module(module), owner), name, noting)
    handler = importlib.import_module("django.core.handlers.asgi").ASGIHandler
    patches.wrap(handler, "resolve_request", asgi_frameworks._noting_route_of_django)
    patches.wrap(os, "execv", lambda call: next_program._in_own_environment(call, "/ours"))
    for name, at in next_program._WITH_ENVIRONMENT.items():
        if hasattr(os, name):
            patches.wrap(os, name, functools.partial(next_program._leading, at=at, folder="/ours"))
    patches.wrap(subprocess.Popen, "_execute_child", functools.partial(next_program._leading_child, folder="/ours"))
    closing = ClosedDescriptors(lambda *_: None)
    patches.wrap(os, "closerange", lambda call: closing._wrap(_patch_of(call)))
    return patches.undo


def _patch_of(call: Callable[..., Any]) -> Any:
    return SimpleNamespace(original=call, is_active=True)


def _nothing(_: object) -> None:
    return None
