"""The agent thread: the agent in a thread with an event loop of its own, for WSGI applications, scripts, `swagent run`.

The pipeline is the same as inside a host's loop; only here the backend setting chooses which loop that is.
"""

from __future__ import annotations

import atexit
import importlib
import logging
import os
import threading
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import anyio

from .. import stop_budgets
from ..agent import Agent
from ..agent import running as running_agent
from ..agent_log import held_back, say
from ..backend import loop_notifier
from ..config import Config
from ..errors import AgentStateError, ConfigError, SwagentError
from ..forks import at_fork
from ..ledger import Statistics
from ..record.suppression import suppress_instrumentation
from ..runtime.child_end import before_child_ends
from ..runtime.closed_descriptors import ClosedDescriptors
from ..runtime.first_record import forget, when_recorded
from ..runtime.fork_rest import resting_at_forks
from ..runtime.thread_loop import above_standard, new_loop
from ..runtime.transport_choice import find_transport
from ..system_thread import Flag, SystemThread, is_patched
from .adoption import adopt
from .uwsgi import follow_uwsgi


class AgentThread:
    """One agent in one thread."""

    def __init__(self, config: Config, *, follow_forks: bool = False) -> None:
        self.agent = Agent(config)
        self.config = config
        self.follow_forks = follow_forks
        self._stop: Callable[[], None] | None = None
        self._is_to_stop = False
        self._cut_short: Callable[[], None] | None = None
        self._started = Flag()
        self._failure: BaseException | None = None
        self._ident = 0
        # if it is not stopped, it does not hold the interpreter; atexit stops it
        self._thread = SystemThread(self._run, "swagent")

    def start(self) -> None:
        """Start the thread and return once traces are taken in.

        :raises ConfigError: when a setting cannot be used
        :raises AgentStateError: when the system has no thread to spare, or the agent does not start in time
        """
        backend, options = loop_of(_possible(self.config.backend))
        self._options: tuple[str, dict[str, Any]] = backend, options
        if self._is_to_stop:
            return
        try:
            self._thread.start()
        except RuntimeError as error:
            raise AgentStateError(f"no thread for the agent: {error}") from error
        # the application waits here: the thread may want what this one holds, such as the lock of an import
        if not self._started.wait(_LONGEST_START):
            self._is_to_stop = True
            raise AgentStateError(f"the agent did not start within {_LONGEST_START:.0f} s")
        if self._failure is not None:
            self._thread.join()
            raise self._failure

    def stop(self, within: float | None = None) -> Statistics:
        """Flush and end the thread.

        :param within: seconds to wait for that; the shutdown timeout and half a second, when left out
        """
        # in this order: the thread looks once it can be told to stop
        self._is_to_stop = True
        if self._stop is not None:
            self._stop()
        if self._thread.is_alive():
            self._thread.join(self.config.shutdown_timeout + stop_budgets.THREAD_END if within is None else within)
        return self.agent.statistics()

    def stop_at_once(self) -> None:
        """As `stop`, but flush for a moment only."""
        if self._cut_short is not None:
            self._cut_short()
        self._thread.join(stop_budgets.CANCELLED_FLUSH + stop_budgets.THREAD_END)

    def flush(self) -> None:
        """Flush from another thread, within the shutdown timeout. A loop may run there."""
        flushing = SystemThread(self._flush, "swagent flush")
        try:
            flushing.start()
        except RuntimeError as error:
            say(logging.WARNING, "no thread to flush in: what waits is sent later: %s", error)
            return
        flushing.join(self.config.shutdown_timeout + stop_budgets.THREAD_END)

    def _flush(self) -> None:
        suppress_instrumentation.set(True)
        backend, options = self._options
        anyio.run(self.agent.flush, self.config.shutdown_timeout, backend=backend, backend_options=options)

    def is_this(self) -> bool:
        """Whether the caller is in it."""
        return threading.get_ident() == self._ident

    def _run(self) -> None:
        self._ident = threading.get_ident()
        backend, options = self._options
        # not only in the tasks: what a loop logs about itself, as asyncio does in its debug mode, is logged in no task
        suppress_instrumentation.set(True)
        try:
            with ExitStack() as making:
                if backend == "trio":
                    making.enter_context(above_standard())
                anyio.run(self._live, making.close, backend=backend, backend_options=options)
        except BaseException as error:  # noqa: BLE001, RUF100  (handed to the starting thread)
            if self._started.is_set():
                say(logging.ERROR, "the loop of the agent has failed: swagent is off", exc_info=error)
                return
            self._failure = error
            self._started.set()

    async def _live(self, is_made: Callable[[], object]) -> None:
        """:param is_made: called once the loop has its descriptors"""
        is_made()
        stop_requested = anyio.Event()
        notify = loop_notifier()
        with resting_at_forks(notify), anyio.CancelScope() as scope:
            async with self.agent:
                self._stop = lambda: notify(stop_requested.set)
                self._cut_short = lambda: notify(scope.cancel)
                self._started.set()
                if not self._is_to_stop:
                    await stop_requested.wait()


def _possible(backend: str) -> str:
    """The backend, or asyncio if gevent or eventlet has taken away what trio is made of."""
    if backend != "trio" or not is_patched():
        return backend
    say(logging.WARNING, "trio cannot run beside gevent or eventlet: the agent runs on asyncio")
    return "auto"


def loop_of(backend: str) -> tuple[str, dict[str, Any]]:
    """The anyio backend and its options for the backend setting; `auto` takes uvloop where it is installed.

    :raises ConfigError: when the wanted loop is not installed
    """
    if backend == "trio":
        _require("trio", backend)
        return "trio", {}
    if backend == "uvloop":
        _require("uvloop", backend)
    is_uvloop = backend == "uvloop" or (backend == "auto" and _is_installed("uvloop"))
    return "asyncio", {"loop_factory": partial(new_loop, uvloop=is_uvloop)}


def _is_installed(module: str) -> bool:
    try:
        importlib.import_module(module)
    except ImportError:
        return False
    return True


def _require(module: str, backend: str) -> None:
    if not _is_installed(module):
        raise ConfigError("backend", backend, f"a loop that is installed: pip install 'swagent[{module}]'")


# Under None: the agent that is being started, or runs. A finaliser, a signal handler or an audit hook may start and
# stop agents between any two bytecodes of ours, so it is put here and taken out by calls that are not interrupted.
_own: dict[None, AgentThread] = {}
_stopping: AgentThread | None = None
_failed_in = 0
# Seconds for which a thread of the application's waits for the start.
_LONGEST_START = 30.0
# One for each `start()` that found an agent and whose `stop()` is still to come.
_adopted: list[Agent] = []
# re-entrant: see `_own`
_lock = threading.RLock()
# Set where the process has been prepared for an agent that starts late.
before_start: Callable[[], object] | None = None
"""Called before `start()` looks for an agent: under `swagent run` a script has that of the command."""
is_stopped_at_exit = False
"""Whether other code calls `stop_own` when the interpreter exits, as the last of all that was registered for that."""


def start(config: Config | None = None, *, follow_forks: bool = False) -> Agent:
    """Start the process's agent in a thread of its own. It is stopped by `stop()` or when the interpreter exits.

    Where an agent runs in this process already, that one is returned and goes on, with its settings. The code that
    started it stops it, so the `stop()` that belongs to this call flushes only.

    :param config: `Config.from_env()` when left out
    :param follow_forks: whether a forked child, such as a server's worker, starts an agent of its own with its first
        span or log record; otherwise it records nothing unless it calls `start()`
    :returns: the agent
    :raises ConfigError: when a setting cannot be used
    :raises AgentStateError: when no thread can be started
    """
    if before_start is not None:
        before_start()
    with _lock:
        agent = adopt(config)
        if agent is None:
            agent_thread = AgentThread(config or Config.from_env(), follow_forks=follow_forks)
            with held_back(in_thread=False):
                is_ours = _start_thread(agent_thread)
            if is_ours:
                return agent_thread.agent
            agent = _own.get(None, agent_thread).agent
        _adopted.append(agent)
        return agent


def _start_thread(agent_thread: AgentThread) -> bool:
    """Start it, with the lock held; returns whether it was, because this thread is not starting another one."""
    if _own.setdefault(None, agent_thread) is not agent_thread:
        return False
    try:
        # here: in the middle of an import of the application's, this thread may hold what the new one would wait for
        find_transport(agent_thread.config)
        follow_uwsgi(in_each_worker=False)
        agent_thread.start()
    except BaseException:
        if _own.get(None) is agent_thread:
            _own.pop(None, None)
        raise
    forget()
    if _own.get(None) is not agent_thread:
        return True  # a handler has stopped it in the meantime
    _closed_descriptors.attach()
    if not is_stopped_at_exit:
        atexit.register(_stop_at_exit)
    before_child_ends(_stop_at_exit)
    return True


def stop() -> Statistics | None:
    """Flush, stop the agent that `start()` started, and return its ledger. Without one it does nothing: None.

    After a `start()` that found an agent, flush that one and leave it running.
    """
    agent = _pop_adopted()
    return stop_own() if agent is None else _flush(agent)


def _pop_adopted() -> Agent | None:
    """The last agent that a `start()` found, if that runs still."""
    with _lock:
        while _adopted:
            agent = _adopted.pop()
            if agent.is_running:
                return agent
    return None


def _flush(agent: Agent) -> Statistics:
    # an agent on a loop of the host's cannot be waited for: it may be the loop that we are called in
    agent_thread = _own.get(None)
    if agent_thread is not None and agent_thread.agent is agent:
        agent_thread.flush()
    return agent.statistics()


def stop_own() -> Statistics | None:
    """Stop the agent that `start()` started in this process, if one did."""
    global _stopping  # noqa: PLW0603, RUF100
    with _lock:
        # before that one is gone: a signal handler may look for it at any time
        _stopping = _own.get(None)
        agent_thread = _own.pop(None, None)
        _closed_descriptors.detach()
    if agent_thread is None:
        return None
    atexit.unregister(_stop_at_exit)
    return agent_thread.stop()


def stop_within(seconds: float) -> None:
    """Let the agent that `start()` started stop, unless it does already, and wait for that so long. For a process that
    is about to be ended: it waits for no lock that another thread may have."""
    agent_thread = _own.get(None) or _stopping
    if agent_thread is not None:
        agent_thread.stop(seconds)


def _stop_at_exit() -> None:
    stop_own()


def _stop_for_closing(low: int, high: int) -> Callable[[], object] | None:
    """Before descriptors are closed: stop, and return what starts the agent anew. Never raises."""
    global _stopping  # noqa: PLW0603, RUF100
    agent_thread = _own.get(None)
    if agent_thread is None or agent_thread.is_this():
        return None
    say(logging.WARNING, "os.closerange(%d, %d) closes the agent's connections too: the agent starts anew", low, high)
    try:
        with _lock:
            _stopping = agent_thread
            _own.pop(None, None)
        agent_thread.stop_at_once()
    except Exception as error:  # noqa: BLE001, RUF100  (the application closes its descriptors all the same)
        say(logging.ERROR, "the agent did not stop before its descriptors were closed", exc_info=error)
    return partial(_start_again, agent_thread)


def _start_again(former: AgentThread) -> None:
    try:
        start(former.config, follow_forks=former.follow_forks)
    except Exception as error:  # noqa: BLE001, RUF100  (in the middle of the application's work, which goes on)
        say(logging.ERROR, "swagent is off since all descriptors were closed", exc_info=error)


_closed_descriptors = ClosedDescriptors(_stop_for_closing)


def running() -> Agent | None:
    """The process's agent, if `start()` started one."""
    agent_thread = _own.get(None)
    return None if agent_thread is None else agent_thread.agent


def _forget_in_child() -> None:
    """A forked child has no thread of its parent's; it may start an agent of its own."""
    global _stopping, _lock  # noqa: PLW0603, RUF100
    agent_thread, _stopping, _lock = _own.pop(None, None), None, threading.RLock()
    _adopted.clear()
    if agent_thread is not None and agent_thread.follow_forks:
        # not now: most children are replaced by another program at once, or record nothing
        when_recorded(agent_thread.config, partial(start_if_none, agent_thread.config))


def start_if_none(config: Config) -> None:
    """Start it unless an agent runs here. Tried once in each process. Never raises."""
    global _failed_in  # noqa: PLW0603, RUF100
    try:
        if not _lock.acquire(timeout=_LONGEST_START):
            return  # what this thread records is not recorded, and the application goes on
        try:
            if running_agent() is None and not _own and _failed_in != os.getpid():
                with held_back(in_thread=True):
                    _start_thread(AgentThread(config, follow_forks=True))
        finally:
            _lock.release()
    except (OSError, SwagentError) as error:
        # a setting, or what the system does not have: a traceback would say nothing more
        _failed_in = os.getpid()
        say(logging.ERROR, "swagent is off: %s", error)
    except Exception as error:  # noqa: BLE001, RUF100  (in the middle of the application's work, which goes on)
        _failed_in = os.getpid()
        say(logging.ERROR, "swagent is off", exc_info=error)


at_fork(after_in_child=_forget_in_child)
