"""The spans of a child of multiprocessing, by the context that came with its work.

In the child of a `Process` one span lasts from the beginning to the end of `run`. In a worker of a pool each job has a
span, which begins when the job has come, and ends before its result leaves: the parent may end the worker right after.

No function of ours is around the application's: its tracebacks, which travel to the parent as text, do not show any.
So a worker's queues are watched, the objects of this process alone, and the end of `run` is a finaliser of
multiprocessing's.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from ....hosting.idle_worker import begin_idle, end_idle
from ....record.trace.span import Span
from ...call import end_call, safely, settle
from .process_job import SENT, attributes_of, begin_job

# before all other finalisers: the application's may take their time, and are not of the job
_FIRST = 1 << 30


def begin_work() -> None:
    """In a child that is ready to run: record what it does."""
    process: Any = sys.modules["multiprocessing.process"].current_process()
    sent = attributes_of(process).pop(SENT, None)
    finish = _watch_worker(process) or _begin_run(process, sent)
    if finish is not None:
        sys.modules["multiprocessing.util"].Finalize(None, finish, exitpriority=_FIRST)


def _watch_worker(process: Any) -> Callable[[], object] | None:
    target = attributes_of(process).get("_target")
    for module, function, kind in (
        ("multiprocessing.pool", "worker", PoolWorker),
        ("concurrent.futures.process", "_process_worker", ExecutorWorker),
    ):
        if target is not None and target is getattr(sys.modules.get(module), function, None):
            incoming, outgoing, *_ = process._args  # noqa: SLF001
            return kind(incoming, outgoing).end_job
    return None


def _begin_run(process: Any, sent: Any) -> Callable[[], object] | None:
    span = begin_job(_function_of(process), sent)
    return partial(_end_run, span) if span is not None else None


def _function_of(process: Any) -> Any:
    """The function that a process runs: its target, or the class that has a `run` of its own."""
    base: Any = sys.modules["multiprocessing.process"].BaseProcess
    target = attributes_of(process).get("_target")
    kind = cast("Any", type(process))
    return kind if target is None or kind.run is not base.run else target


def _end_run(span: Span) -> None:
    # the finalisers are called while the error passes
    settle(end_call, span, sys.exc_info()[1])


class _Worker:
    """A worker of a pool, from one job to the next."""

    def __init__(self, incoming: Any, outgoing: Any) -> None:
        """:param incoming: the queue that jobs come from; `outgoing`: the one that their results go to"""
        self._span: Span | None = None
        self._error: BaseException | None = None
        self._get = incoming.get
        outgoing._writer = _Writer(outgoing._writer, self._leave)  # noqa: SLF001
        attributes_of(incoming)["get"] = self.get

    def get(self, *args: Any, **kwargs: Any) -> Any:
        """Wait for the next job, and begin its span."""
        self._leave()
        job = self._get(*args, **kwargs)
        if job is None:
            # The end: the parent may send the signal at the same time.
            return None
        safely(end_idle)
        return safely(self._begin, job) or job

    def _begin(self, job: Any) -> Any:
        """:returns: the job as its parent made it"""
        raise NotImplementedError

    def _begin_span(self, function: Any, sent: Any, items: int = 0) -> None:
        self._span = begin_job(function, sent)
        if self._span is not None and items:
            self._span.tag("items", items)

    def _leave(self) -> None:
        """The job has ended. Its result is pickled, and about to be sent."""
        self.end_job()
        safely(begin_idle)

    def end_job(self) -> None:
        """End the job's span, if there is one."""
        span, self._span = self._span, None
        error, self._error = self._error or sys.exc_info()[1], None
        if span is not None:
            settle(end_call, span, error)


class PoolWorker(_Worker):
    """A worker of `multiprocessing.Pool`."""

    def __init__(self, incoming: Any, outgoing: Any) -> None:
        super().__init__(incoming, outgoing)
        self._put = outgoing.put
        self._module = sys.modules["multiprocessing.pool"]
        attributes_of(outgoing)["put"] = self.put

    def put(self, answer: Any) -> None:
        """Send a result, of which the worker alone knows what kind it is."""
        safely(self._note_error, answer)
        self._put(answer)

    def _note_error(self, answer: Any) -> None:
        _, _, (is_result, value) = answer
        error = None if is_result else getattr(value, "exc", value)
        self._error = error if isinstance(error, BaseException) else None

    def _begin(self, job: Any) -> Any:
        number, index, function, args, kwargs = job
        sent: Any = attributes_of(kwargs).get(SENT) if type(kwargs) is OrderedDict else None
        if type(index) is not int:
            sent, index = index, 0
        if function in (self._module.mapstar, self._module.starmapstar):
            called, items = args[0]
            self._begin_span(called, sent, len(items))
        else:
            self._begin_span(function, sent)
        return number, index, function, args, kwargs


class ExecutorWorker(_Worker):
    """A worker of `ProcessPoolExecutor`."""

    def _begin(self, job: Any) -> Any:
        sent = attributes_of(job).pop(SENT, None)
        function, chunk = job.fn, sys.modules["concurrent.futures.process"]._process_chunk  # noqa: SLF001
        if isinstance(function, partial) and function.func is chunk:
            self._begin_span(function.args[0], sent, len(job.args[0]))
        else:
            self._begin_span(function, sent)
        return job


class _Writer:
    """The end of a queue that results are sent through."""

    def __init__(self, writer: Any, leave: Callable[[], object]) -> None:
        self._writer = writer
        self._leave = leave

    def __getattr__(self, name: str) -> Any:
        return getattr(self._writer, name)

    def send_bytes(self, *args: Any, **kwargs: Any) -> Any:
        """Send a result that was pickled."""
        self._leave()
        return self._writer.send_bytes(*args, **kwargs)
