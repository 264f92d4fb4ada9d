"""Frames of other threads are read while the garbage collector lets these threads run at every chance."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from swagent import thread_frames
from swagent.thread_frames import caller_of, current_frames, read

# In a process of its own, which a fault of memory ends. The calls are of many depths: a frame that is left is soon
# memory of another one.
_WALK = """
import gc, sys, threading, time
from swagent.profile.blocked_loop import place_of
from swagent.profile.stacks import thread_stack
from swagent.thread_frames import current_frames, read

def deep(number):
    return deep(number - 1) if number else 0

def work():
    while True:
        deep(20)
        [deep(3) for _ in range(5)]

thread = threading.Thread(target=work, daemon=True)
thread.start()
gc.collect()
gc.freeze()
gc.callbacks.append(lambda phase, info: time.sleep(0))
gc.set_threshold(5)
for _ in range({walks}):
    frame = current_frames()[thread.ident]
    place_of(frame), thread_stack(frame, 100), read(frame, "f_locals")
print("alive")
"""
_WALKS = 400


@pytest.mark.gate
def test_another_thread_is_looked_at_whatever_the_collector_lets_run() -> None:
    """On Python 3.11 the process ended with a fault of memory, after some hundred looks."""
    command = [sys.executable, "-X", "faulthandler", "-c", _WALK.format(walks=_WALKS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr[-2000:]


@pytest.fixture(autouse=True)
def _collecting() -> Iterator[None]:
    yield
    gc.enable()


class _Held:
    """Something that a function has."""


@contextmanager
def _working() -> Iterator[tuple[int, list[weakref.ref[_Held]]]]:
    """The identity of a thread in the middle of a function, and what that function has."""
    begun, end = threading.Event(), threading.Event()
    held: list[weakref.ref[_Held]] = []

    def work() -> None:
        own = _Held()
        held.append(weakref.ref(own))
        begun.set()
        end.wait()

    worker = threading.Thread(target=work)
    worker.start()
    begun.wait()
    try:
        yield worker.ident or 0, held
    finally:
        end.set()
        worker.join()


@pytest.mark.parametrize("is_on", [True, False])
def test_the_collector_is_left_as_it_was(is_on: bool) -> None:
    (gc.enable if is_on else gc.disable)()
    with _working() as (worker, _):
        frame = current_frames()[worker]
        assert caller_of(frame) is frame.f_back
    assert gc.isenabled() is is_on


def test_what_another_thread_has_lives_no_longer_than_without_a_look() -> None:
    gc.disable()
    with _working() as (worker, held):
        assert worker in current_frames()
        assert threading.get_ident() not in current_frames()
    assert [each() for each in held] == [None]


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the collector is left alone")
def test_the_collector_is_off_for_no_longer_than_a_frame_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    class Owner:
        @property
        def f_back(self) -> str:
            seen.append(gc.isenabled())
            return "caller"

    assert read(Owner(), "f_back") == "caller"
    assert (seen, gc.isenabled()) == ([False], True)
    # another thread switches it off between the first look and the call
    monkeypatch.setattr(thread_frames, "_is_on", iter([True, False]).__next__)
    assert read(Owner(), "f_back") == "caller"
    assert not gc.isenabled()


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the collector is left alone")
def test_an_error_leaves_the_collector_on() -> None:
    class Owner:
        @property
        def f_back(self) -> str:
            raise MemoryError

    with pytest.raises(MemoryError):
        read(Owner(), "f_back")
    assert gc.isenabled()


def test_what_is_not_there_is_none() -> None:
    assert read(object(), "cr_frame") is None


def test_without_a_global_lock_no_frame_of_another_thread_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_frames, "_IS_LOCKED", lambda: False)
    assert current_frames() == {}
