"""A worker that waits for work, and the signal that ends it. Here nothing ends: the last step is only noted."""

from __future__ import annotations

import faulthandler
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from swagent import stop_budgets
from swagent.hosting import agent_thread, idle_worker

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems give a signal to any thread")


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The effects of a signal: how long the agent had to stop, and the signal that this process sent to itself."""
    noted: list[Any] = []
    monkeypatch.setattr(idle_worker, "running", lambda: object())
    monkeypatch.setattr(idle_worker, "stop_within", noted.append)
    monkeypatch.setattr(idle_worker, "os", SimpleNamespace(**{**vars(os), "kill": lambda *sent: noted.append(sent)}))
    monkeypatch.setattr(idle_worker, "_watch", None)
    former = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield noted
    idle_worker.end_idle()
    signal.signal(signal.SIGTERM, former)
    watch = idle_worker._watch
    if watch is not None:
        # its thread reads the end
        os.close(watch._writer)
        watch._thread.join()
        os.close(watch._reader)


def test_while_it_waits_the_signal_flushes_and_then_ends_it(ends: list[Any]) -> None:
    idle_worker.begin_idle()
    idle_worker.begin_idle()
    os.kill(os.getpid(), signal.SIGTERM)
    assert ends == [stop_budgets.TERMINATED_FLUSH, (os.getpid(), signal.SIGTERM)]
    # a second one meets nothing of ours
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_while_it_works_nothing_is_changed(ends: list[Any]) -> None:
    idle_worker.begin_idle()
    assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    idle_worker.end_idle()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert signal.set_wakeup_fd(-1) == -1
    idle_worker.end_idle()
    assert ends == []


def test_a_flush_that_fails_ends_it_too(ends: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(idle_worker, "stop_within", interrupt)
    idle_worker.begin_idle()
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGTERM)
    assert ends == [(os.getpid(), signal.SIGTERM)]


LOST = """
import multiprocessing, signal, sys, threading
from swagent.hosting import idle_worker

idle_worker.running = object
idle_worker.stop_within = lambda seconds: print("flushed", flush=True)
semaphore = multiprocessing.get_context("fork").Semaphore(0)
way = sys.argv[1]
idle_worker.begin_idle()
if way == "other thread":
    # nothing interrupts the wait of the main thread
    def say():
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
    threading.Thread(target=say).start()
elif way == "handler gone":
    # as CPython does it between its look at the signals and the end of the handler
    import os
    os.write(idle_worker._watch._writer, bytes([signal.SIGCHLD, signal.SIGTERM]))
    idle_worker.end_idle()
semaphore.acquire()
"""


@pytest.mark.parametrize(("way", "said"), [("other thread", "flushed\n"), ("handler gone", "")])
def test_a_signal_that_the_main_thread_does_not_see_is_not_lost(way: str, said: str) -> None:
    done = subprocess.run([sys.executable, "-c", LOST, way], capture_output=True, text=True, timeout=50, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGTERM, said, "")


def test_a_child_that_is_forked_meanwhile_ends_for_itself(ends: list[Any]) -> None:
    idle_worker.begin_idle()
    child = os.fork()
    if not child:
        is_as_usual = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL and signal.set_wakeup_fd(-1) == -1
        os._exit(0 if is_as_usual else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL


def test_where_the_application_has_closed_all_descriptors_nothing_is_changed(ends: list[Any]) -> None:
    idle_worker.begin_idle()
    idle_worker.end_idle()
    watch: Any = idle_worker._watch
    with open(os.devnull, "w") as reused:
        os.dup2(reused.fileno(), watch._writer)
    idle_worker.begin_idle()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert signal.set_wakeup_fd(-1) == -1


HANDLERS: dict[str, Callable[[], object]] = {
    "in C": lambda: faulthandler.register(signal.SIGTERM),
    "in Python": lambda: signal.signal(signal.SIGTERM, lambda *_: None),
    "ignoring": lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN),
}


@pytest.mark.parametrize("handle", HANDLERS)
def test_the_applications_own_handler_stays(ends: list[Any], handle: str) -> None:
    HANDLERS[handle]()
    try:
        before = signal.getsignal(signal.SIGTERM)
        idle_worker.begin_idle()
        assert signal.getsignal(signal.SIGTERM) is before
        assert signal.set_wakeup_fd(-1) == -1
    finally:
        faulthandler.unregister(signal.SIGTERM)


def test_the_applications_own_descriptor_stays(ends: list[Any]) -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer)
    try:
        idle_worker.begin_idle()
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        assert signal.set_wakeup_fd(-1) == writer
        os.close(reader)
        os.close(writer)


def test_where_nothing_is_recorded_and_elsewhere_nothing_is_changed(
    ends: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = threading.Thread(target=idle_worker.begin_idle)
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    monkeypatch.setattr(idle_worker, "running", agent_thread.running)
    idle_worker.begin_idle()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_the_agent_that_stops_already_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[Any] = []
    stopping = SimpleNamespace(stop=waited.append)
    monkeypatch.setattr(agent_thread, "_stopping", stopping)
    agent_thread.stop_within(1.5)
    assert waited == [1.5]
