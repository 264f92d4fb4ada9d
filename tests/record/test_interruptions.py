"""Interruptions at any point: signal handlers, and a fork while another thread is inside."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from faults.covering import covers
from kit.forks import FORKS, in_a_child
from swagent import entry_span, local_span
from swagent.record.trace.tracer import Tracer

from .recorded import Recorder, work

pytestmark = FORKS


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


def test_a_fork_while_another_thread_holds_the_lock_does_not_deadlock_the_child(recorder: Recorder) -> None:
    def end_and_begin() -> None:
        request.stop()
        work("in the child")
        assert recorder.names == [["request"], ["in the child"]]

    request = entry_span("request").start()
    with _held_by_another_thread(recorder.tracer):
        in_a_child(end_and_begin)
    assert recorder.segments == []
    request.stop()
    assert recorder.names == [["request"]]
