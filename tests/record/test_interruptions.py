"""Interruptions at any point: signal handlers, and a fork while another thread is inside."""

from __future__ import annotations

import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from faults.covering import covers
from swagent import entry_span, local_span
from swagent.record.trace.tracer import Tracer

from .recorded import Recorder, work

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX signals and fork")

_PATIENCE = 5


@contextmanager
def _on_signal(work: Callable[[], object]) -> Iterator[Callable[[], None]]:
    before = signal.signal(signal.SIGUSR1, lambda number, frame: work())
    try:
        yield lambda: signal.raise_signal(signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)


@covers("C06")
def test_a_signal_handler_may_end_a_span_and_record_while_the_lock_is_held(recorder: Recorder) -> None:
    def end_and_record() -> None:
        with local_span("in the handler") as span:
            span.tag("key", "value").headers()
        request.stop()

    request = entry_span("request").start()
    with _on_signal(end_and_record) as interrupt, recorder.tracer.lock:
        interrupt()
    assert recorder.only.names == ["request", "in the handler"]


@contextmanager
def _held_by_another_thread(tracer: Tracer) -> Iterator[None]:
    is_held, may_release = threading.Event(), threading.Event()

    def hold() -> None:
        with tracer.lock:
            is_held.set()
            may_release.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    is_held.wait()
    try:
        yield
    finally:
        may_release.set()
        thread.join()


def _exit_code_of_a_child(work: Callable[[], None]) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fork with a thread around is what is tried here
        child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # a deadlock ends the child, not the test run
        signal.alarm(_PATIENCE)
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_fork_while_another_thread_holds_the_lock_does_not_deadlock_the_child(recorder: Recorder) -> None:
    def end_and_begin() -> None:
        request.stop()
        work("in the child")
        assert recorder.names == [["request"], ["in the child"]]

    request = entry_span("request").start()
    with _held_by_another_thread(recorder.tracer):
        assert _exit_code_of_a_child(end_and_begin) == 0
    assert recorder.segments == []
    request.stop()
    assert recorder.names == [["request"]]
