"""Prepares each Python process of the command of `swagent run`, before the command's own code.

Theory of operation
-------------------
Most processes of a command are short, or look after others, and record nothing. So this imports next to nothing, and
starts nothing. It leaves functions behind that wait for a need:

| need | what happens |
| --- | --- |
| a library that can be recorded is imported | the settings are read, and that library is instrumented |
| a span or a log record | the same, and the agent starts in a thread; this record is its first |
| in a script: a meter, the import of the agent, a life of ten seconds | the same |
| the official agent's API is imported | ours is imported in its place, unless that agent is installed |
| a server begins to serve | the agent starts in the lifespan or in a thread, see `hosting/late_start.py` |

Helpers of others, which run no code of the application's, are left alone.

Settings are those of the moment at which the process began, whenever they are read. Where they cannot surely be used,
they are read at once, so that a mistake is reported before the command runs.
"""

from __future__ import annotations

import atexit
import os
import sys
from _thread import RLock

from .forks import at_fork
from .startup import import_hook, processes, settings
from .startup.entry_points import may_exist
from .startup.import_hook import importing_for_ourselves, is_for_ourselves, when_imported
from .startup.lifetime import Lifetime
from .startup.next_program import lead
from .startup.tables import MODULES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container
    from importlib.machinery import ModuleSpec
    from typing import Any

if sys.version_info < (3, 10):  # noqa: UP036, RUF100  (what is found on the path may be of another Python)
    raise ImportError("Python 3.10 or later is needed")

_TRACER, _METERS = "swagent.record.trace.tracer", "swagent.record.meters.registry"
_AGENT, _AGENT_THREAD = "swagent.agent", "swagent.hosting.agent_thread"
# Beside the libraries: a bridge for the first two, and a warning of the last.
_MODULES = ("opentelemetry.trace", "opentelemetry.propagate", "skywalking.agent")
_OFFICIAL, _OFFICIAL_NAMES = "skywalking", "official"
_PYTEST = "_pytest.assertion.rewrite"
_GROUPS = (b"[swagent.instrumentations]", b"[opentelemetry_instrumentor]")
# Imported by the interpreter itself.
_OF_PYTHON = frozenset(("usercustomize", "__main__"))
_LOG_SETTINGS = "SW_AGENT_LOG_REPORTER_"
# The level of log records that are reported, unless a setting says otherwise.
_LEVEL = 30
# Seconds that a record waits while another thread prepares the process. Both may be in the middle of imports that wait
# for each other; then the record is not recorded, and the application goes on.
_LONGEST_WAIT = 30.0


def launch(before: Container[str], folder: str, *, is_first: bool = True, is_injected: bool = False) -> None:
    """Leave behind what waits for a need.

    :param before: the names of the modules that were there before the first one of the agent's
    :param folder: which Python found on its path, and so the agent
    :param is_first: whether this is the first interpreter of the command, and not one that it has started
    :param is_injected: whether the folder alone brings the agent, and no command of `swagent run`: then nothing has
        read the settings yet
    :raises ConfigError: when a setting cannot be used
    """
    import_hook.note_ours(before)
    lead(folder)
    if not processes.is_helper(sys.orig_argv):
        _Process(is_first, is_injected).prepare()


class _Process:
    """This process, and what was loaded in it so far."""

    def __init__(self, is_first: bool, is_injected: bool) -> None:
        self._is_injected = is_injected
        self._is_first = is_first or (is_injected and not processes.is_child(sys.orig_argv))
        self._is_script = processes.is_script(sys.orig_argv)
        self._settings = settings.settings_of(os.environ)
        self._is_sure = settings.are_surely_usable(self._settings) and settings.is_installed(self._settings)
        if is_injected and self._is_sure:
            self._settings |= settings.defaults_without_code(self._settings)
        self._is_loaded = self._is_loading = False
        self._first_log: Any = None
        self._start_after = settings.seconds_until_start(self._settings)
        self._lifetime: Lifetime | None = None
        # not made before it is needed: eventlet warns of each that it finds
        self._locks: dict[str, Any] = {}

    def prepare(self) -> None:
        """Wait for a need."""
        # first: what other code has registered for the end runs before it, and may record
        atexit.register(self._stop)
        at_fork(after_in_child=self._after_fork_in_child)
        when_imported(_AGENT_THREAD, self._set_up_thread)
        if not self._is_sure:
            self._load()
        for name in (*MODULES, *_MODULES):
            when_imported(name, self._load_for)
        is_asked_for = self._settings.get(settings.COMPATIBILITY, "").strip().lower() == _OFFICIAL_NAMES
        import_hook.serve_package(_OFFICIAL, _find_official, instead=is_asked_for)
        when_imported("logging", self._watch_logs)
        when_imported(_PYTEST, self._load_for_pytest)
        when_imported(_TRACER, self._watch_spans)
        import_hook.watch_names(self._look_for_others)
        if self._is_script:
            when_imported(_METERS, self._watch_meters)
            when_imported(_AGENT, self._start_for)
            when_imported(_AGENT_THREAD, self._start_for)
            if self._start_after:
                self._lifetime = Lifetime(self._start_after, self._start)
                self._lifetime.begin()

    # -- what waits for a need ----------------------------------------------------------------------------------------

    def _load_for(self, _: object) -> None:
        self._try_load(wait=False)

    def _load_for_pytest(self, _: object) -> None:
        # all, and now: pytest would rewrite our modules later, as those of a plugin, in whatever thread imports them
        self._try_load(wait=False)
        if self._is_loaded:
            from .hosting.late_start import import_agent  # noqa: PLC0415, RUF100

            import_agent()

    def _watch_logs(self, _: object) -> None:
        if self._is_loaded or self._is_loading:
            return
        if any(name.startswith(_LOG_SETTINGS) for name in self._settings):
            self._try_load(wait=False)
            return
        with importing_for_ourselves():
            from .record.logs.first_record import FirstRecord  # noqa: PLC0415, RUF100  (it imports `logging`)

        self._first_log = FirstRecord(_LEVEL, "callHandlers", self._try_load)
        self._first_log.attach()

    def _watch_spans(self, tracer: Any) -> None:
        # not now: this may be in the middle of an import of what would be loaded
        if not (self._is_loaded or self._is_loading):
            tracer.when_missed(self._try_load)

    def _watch_meters(self, registry: Any) -> None:
        if not (self._is_loaded or self._is_loading):
            registry.when_made(self._start)

    def _start_for(self, _: object) -> None:
        thread = sys.modules.get(_AGENT_THREAD)
        # otherwise there is another call at the end of that import
        if not is_for_ourselves() and (thread is None or not import_hook.is_being_imported(thread)):
            self._start()

    def _look_for_others(self, name: str) -> None:
        """Other distributions may have instrumentations, for whatever module."""
        if "." in name or name in sys.stdlib_module_names or name in _OF_PYTHON or is_for_ourselves():
            return
        if _is_importing_us():
            # the application imports the agent, and what would be loaded needs all of that: the next name will do
            return
        import_hook.stop_watching(self._look_for_others)
        if may_exist(*_GROUPS, leaving_out="swagent-"):
            # at its end: what is loaded may import the same module
            when_imported(name, self._load_for)

    def _set_up_thread(self, agent_thread: Any) -> None:
        agent_thread.is_stopped_at_exit = True
        if self._is_script:
            agent_thread.before_start = self._start

    # -- what it is waited with ---------------------------------------------------------------------------------------

    def _start(self) -> None:
        """Start the agent, unless there is one. Never raises."""
        self._try_load()
        if self._is_loaded:
            from .hosting.late_start import start_when_needed  # noqa: PLC0415, RUF100

            start_when_needed()

    def _try_load(self, *, wait: bool = True) -> None:
        """Load what records. Never raises: it would be the application's import, or its call."""
        try:
            self._load(wait=wait)
        except Exception as error:  # noqa: BLE001, RUF100  (as above)
            import logging  # noqa: PLC0415, RUF100

            from .agent_log import say  # noqa: PLC0415, RUF100

            self._is_loaded = True
            say(logging.ERROR, "swagent is off", exc_info=error)

    def _load(self, *, wait: bool = True) -> None:
        if self._is_loaded:
            return
        lock = self._locks.setdefault("loading", RLock())
        if not lock.acquire(timeout=_LONGEST_WAIT if wait else 0):
            return
        try:
            # else this thread is in the middle of it
            if not (self._is_loaded or self._is_loading):
                self._is_loading = True
                try:
                    with importing_for_ourselves():
                        self._load_all()
                    self._is_loaded = True
                finally:
                    self._is_loading = False
        finally:
            lock.release()

    def _load_all(self) -> None:
        from .config import Config, environment  # noqa: PLC0415, RUF100

        if not (self._is_injected and self._is_first):
            # `swagent run` has said so, before it became this process, or the process that has started this one
            environment.leave_unsaid(os.environ)
        if self._is_sure:
            config = Config.from_env(self._settings)
        elif self._is_injected:
            from .config.without_code import read_without_code  # noqa: PLC0415, RUF100

            config = read_without_code()
        else:
            config = Config.from_env()
        if not self._is_sure:
            from .runtime.transport_choice import find_transport  # noqa: PLC0415, RUF100

            find_transport(config)
            self._start_after = config.start_after
        from .instrument.launch import instrument_command  # noqa: PLC0415, RUF100
        from .opentelemetry.launch import bridge_when_imported  # noqa: PLC0415, RUF100

        instrument_command(config, sys.orig_argv, is_first=self._is_first)
        bridge_when_imported(config)
        first_log, self._first_log = self._first_log, None
        if first_log is not None:
            first_log.detach()

    def _stop(self) -> None:
        """At the end of the interpreter."""
        if self._lifetime is not None:
            self._lifetime.end()
        stop_own: Any = getattr(sys.modules.get(_AGENT_THREAD), "stop_own", None)
        # another thread may be importing it just now
        if stop_own is not None:
            stop_own()

    def _after_fork_in_child(self) -> None:
        # another thread of the parent may have had it
        self._locks.clear()
        self._is_loading = self._is_first = False


def _is_importing_us() -> bool:
    return any(
        name.startswith("swagent.") and import_hook.is_being_imported(module)
        for name, module in list(sys.modules.items())
    )


def _find_official(name: str) -> ModuleSpec | None:
    """The official agent's API, where that agent is not installed."""
    with importing_for_ourselves():
        from .official.serving import find  # noqa: PLC0415, RUF100  (few applications use it)

    return find(name)
