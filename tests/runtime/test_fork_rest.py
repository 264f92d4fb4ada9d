"""A fork of an application with one thread: the agent's threads rest meanwhile, and Python warns of nothing."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")

BACKENDS = ["asyncio", "uvloop", "trio"]
START = """
import os, signal, sys, threading, warnings

at_fork = []

def look():
    at_fork.append([each.begun.is_set() for each in fork_rest._resting])

# hooks are called in the reverse order: this one after the agent's
os.register_at_fork(before=look)

import swagent, swagent.agent
from swagent.runtime import fork_rest
from swagent.testing import MemoryCollector

# a machine that is busy brings a loop to rest later
fork_rest._LONGEST_WAIT = 40
collector = MemoryCollector()
swagent.agent.find_transport = lambda _: collector.transport
agent = swagent.start(swagent.Config(backend=sys.argv[1], collector="127.0.0.1:1"))

def record():
    with swagent.local_span("work"):
        pass

def fork(end=sys.exit):
    child = os.fork()
    if child == 0:
        with swagent.local_span("in the child"):
            pass
        end(0)
    assert os.waitpid(child, 0)[1] == 0

def end(made):
    statistics = swagent.stop().segment
    assert (statistics.offered, statistics.confirmed) == (made, made), statistics
    assert not [each for each in warnings.filters if isinstance(each[1], fork_rest._ForkWarning)]
"""


def run(script: str, backend: str, *options: str) -> str:
    """Run it in a process of one thread; what it said."""
    command = [sys.executable, "-W", "error", *options, "-c", START + script, backend]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0, done.stderr
    assert "Exception ignored" not in done.stderr, done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("backend", BACKENDS)
def test_each_loop_of_ours_rests_at_a_fork_and_goes_on(backend: str) -> None:
    script = """
for _ in range(12):
    record()
    fork()
assert len(at_fork) == 12
assert all(each and all(each) for each in at_fork), at_fork
end(12)
"""
    # as an error it is lost on the way in some Pythons
    assert "multi-threaded" not in run(script, backend, "-W", "always::DeprecationWarning")


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_signal_handler_may_fork_in_the_middle_of_anything(backend: str) -> None:
    script = """
handled = threading.Event()
def handle(*_):
    # an exception may be raised anywhere here, even where Python ignores it
    fork(os._exit)
    if len(at_fork) >= 20:
        handled.set()
    else:
        # once each time: a child would handle a signal that has come meanwhile, and fork as well
        signal.setitimer(signal.ITIMER_REAL, 0.005)
signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.005)
made = 0
while not handled.is_set():
    record()
    made += 1
statistics = swagent.stop().segment
assert statistics.offered == made
assert made == statistics.confirmed + sum(statistics.dropped.values()) + sum(statistics.refused.values())
"""
    run(script, backend)


def test_a_loop_that_does_not_come_to_rest_holds_the_fork_up_for_a_bounded_time_only() -> None:
    script = """
fork_rest._LONGEST_WAIT = 0.01
held, release = threading.Event(), threading.Event()
(notify,) = fork_rest._loops.values()
notify(lambda: (held.set(), release.wait()))
held.wait()
warnings.simplefilter("ignore")
fork()
assert at_fork == [[False]]
release.set()
record()
end(1)
"""
    run(script, "asyncio")


def test_in_an_application_with_threads_nothing_is_asked() -> None:
    script = """
over = threading.Event()
other = threading.Thread(target=over.wait)
other.start()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    fork()
assert at_fork == [[]]
assert len(caught) == (1 if sys.version_info >= (3, 12) else 0), caught
over.set()
other.join()
end(0)
"""
    run(script, "asyncio")


def test_only_the_one_warning_of_the_one_fork_is_left_out() -> None:
    """The warning that Python 3.12 gives by itself, on every Python."""
    script = """
fork_rest._WARNS = True
text = f"This process (pid={os.getpid()}) is multi-threaded, use of fork() may lead to deadlocks in the child."
fork_rest._before()
before = list(warnings.filters)
assert isinstance(before[0][1], fork_rest._ForkWarning)
try:
    warnings.warn("another", DeprecationWarning)
except DeprecationWarning as error:
    assert str(error) == "another"
else:
    raise AssertionError
fork_rest._after()
warnings.warn(text, DeprecationWarning)
assert warnings.filters == before[1:]
try:
    warnings.warn(text, DeprecationWarning)
except DeprecationWarning as error:
    assert str(error) == text
else:
    raise AssertionError
swagent.stop()
"""
    run(script, "asyncio")
