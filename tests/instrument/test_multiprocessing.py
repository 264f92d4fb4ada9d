"""multiprocessing and ProcessPoolExecutor, both ends in this process: what travels with a job, and the job's span.

tests/cli/test_jobs.py has the same with children, in every way that they are started.
"""

from __future__ import annotations

import concurrent.futures.process
import functools
import multiprocessing.pool
import os
import queue
import threading
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from multiprocessing.pool import Pool, ThreadPool
from types import SimpleNamespace
from typing import Any

import pytest

from record.recorded import Recorder, recording
from swagent import current_trace_id, entry_span, get_correlation, local_span, put_correlation
from swagent.instrument.libraries.processes.process_job import SENT, begin_job, sent_with_job
from swagent.instrument.libraries.processes.process_worker import ExecutorWorker, PoolWorker, begin_work
from swagent.record.suppression import suppress_instrumentation
from swagent.record.trace import tracer as tracers
from swagent.record.trace.model import RefKind

from .trees import trees

INSTRUMENTED = ("multiprocessing",)
AGAINST = "processes of its own"
SPAWN = multiprocessing.get_context("spawn")
pool_module: Any = multiprocessing.pool
executor_module: Any = concurrent.futures.process
JOB = "PYTHON/UNKNOWN"


def work(number: int) -> int:
    with local_span("inside"):
        return number


def named(*, number: int) -> int:
    return number


def fail(number: int) -> int:
    raise LookupError("nothing there", number)


def unpicklable(_: int) -> Callable[[], None]:
    return lambda: None


def trace_of(key: str) -> tuple[str, str | None]:
    return current_trace_id(), get_correlation(key)


class Doubling:
    def __call__(self, number: int) -> int:
        return 2 * number


class AsPool:
    """A pool whose threads and whose worker are this thread: through real queues, and so real pickles."""

    def __init__(self) -> None:
        made: Any = Pool.__new__(Pool)
        vars(made).update(
            _state="RUN", _cache={}, _pool=[None], _taskqueue=queue.SimpleQueue(),
            _inqueue=SPAWN.SimpleQueue(), _outqueue=SPAWN.SimpleQueue(),
        )  # fmt: skip
        self.pool = made

    def send(self) -> None:
        """Send what was handed over, as the pool's thread does."""
        pool, thread = self.pool, threading.current_thread()
        pool._taskqueue.put(None)
        vars(thread)["_state"] = "RUN"
        try:
            pool._handle_tasks(pool._taskqueue, pool._inqueue._writer.send, pool._outqueue, [], pool._cache)
        finally:
            del vars(thread)["_state"]
            pool._state = "CLOSE"
        assert pool._outqueue.get() is None

    def work(self, *, is_watched: bool = True) -> list[Any]:
        """Do as a worker does; all that it sends back.

        :param is_watched: whether the agent is in the worker
        """
        incoming, outgoing = _other_end(self.pool._inqueue), _other_end(self.pool._outqueue)
        if is_watched:
            PoolWorker(incoming, outgoing)
        self.pool._inqueue.put(None)
        pool_module.worker(incoming, outgoing)
        answers: list[Any] = []
        while not self.pool._outqueue.empty():
            answers.append(self.pool._outqueue.get())
        return answers


def _other_end(shared: Any) -> Any:
    """A queue as a child has it: the worker closes one end of it."""
    copied: Any = object.__new__(type(shared))
    reader = Connection(os.dup(shared._reader.fileno()), writable=False)
    writer = Connection(os.dup(shared._writer.fileno()), readable=False)
    vars(copied).update(vars(shared), _reader=reader, _writer=writer)
    return copied


@pytest.fixture
def like() -> AsPool:
    return AsPool()


WAYS: dict[str, Callable[[Any], object]] = {
    "apply_async": lambda pool: pool.apply_async(work, (1,)),
    "apply_async with names": lambda pool: pool.apply_async(named, (), {"number": 1}),
    "map_async": lambda pool: pool.map_async(work, [1]),
    "starmap_async": lambda pool: pool.starmap_async(work, [(1,)]),
    "imap": lambda pool: pool.imap(work, [1]),
    "imap in chunks": lambda pool: pool.imap(work, [1], 2),
    "imap_unordered": lambda pool: pool.imap_unordered(work, [1]),
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())


@every_way
def test_a_job_of_a_pool_refers_to_its_call(like: AsPool, way: Callable[[Any], object], recorder: Recorder) -> None:
    with entry_span("request") as request, local_span("price"):
        way(like.pool)
    like.send()
    ((_, index, (is_result, value)),) = like.work()
    assert (index, is_result, value in (1, [1])) == (0, True, True)
    job = recorder.segments[-1].spans[-1]
    assert job.name in ("work", "named")
    (reference,) = job.refs
    assert (reference.kind, reference.segment_id, reference.span_id) == (RefKind.CROSS_PROCESS, request.segment_id, 1)
    assert recorder.segments[-1].trace_id == request.trace_id


@every_way
def test_outside_of_a_span_a_task_is_as_it_was(like: AsPool, way: Callable[[Any], object], recorder: Recorder) -> None:
    way(like.pool)
    like.send()
    _, index, function, _, kwargs = like.pool._inqueue.get()
    assert (index, type(kwargs)) == (0, dict)
    like.pool._inqueue.put((0, index, function, (), {}))
    like.work()
    assert recorder.names == []


def test_a_chunk_is_one_job_and_says_of_how_many_items(like: AsPool, recorder: Recorder) -> None:
    with entry_span("request"):
        like.pool.map_async(functools.partial(work), range(5), 3)
        like.pool.apply_async(Doubling(), (1,))
    like.send()
    like.work()
    inside = "\n  Local inside"
    assert trees(recorder) == (
        f"Entry request\nLocal work {JOB} items=3{3 * inside}\nLocal work {JOB} items=2{2 * inside}\n"
        f"Local Doubling {JOB}"
    )


def test_an_exception_of_a_job_is_its_failure_and_so_is_a_result_that_cannot_travel(
    like: AsPool, recorder: Recorder
) -> None:
    with entry_span("request"):
        like.pool.apply_async(fail, (1,))
        like.pool.apply_async(unpicklable, (1,))
        like.pool.apply_async(work, (1,))
    like.send()
    answers = like.work()
    assert [answer[2][0] for answer in answers] == [False, False, True]
    assert trees(recorder) == (
        f"Entry request\nLocal fail {JOB} FAILED\nLocal unpicklable {JOB} FAILED\nLocal work {JOB}\n  Local inside"
    )
    ((_, fields),) = recorder.span("fail").logs
    assert dict(fields)["error.kind"] == "LookupError"


def test_an_error_of_an_iterable_is_no_job(like: AsPool, recorder: Recorder) -> None:
    def numbers() -> Iterator[int]:
        yield 1
        raise ArithmeticError

    with entry_span("request"):
        like.pool.imap(work, numbers())
    like.send()
    (_, _, first), (_, _, second) = like.work()
    assert (first, type(second[1])) == ((True, 1), ArithmeticError)
    assert recorder.names == [["request"], ["work", "inside"]]


def test_the_threads_of_a_thread_pool_get_no_carrier(recorder: Recorder) -> None:
    with entry_span("request"), ThreadPool(1) as pool:
        result = pool.apply_async(work, (1,))
        assert result.get() == 1
        assert SENT not in vars(result)


def test_a_call_of_an_executor_is_its_function_and_a_chunk_says_of_how_many_items(recorder: Recorder) -> None:
    with entry_span("request"):
        sent = sent_with_job()
    chunk = functools.partial(executor_module._process_chunk, work)
    calls = [(work, (1,)), (chunk, ([(1,), (2,)],)), (unpicklable, (1,)), (fail, (1,))]
    jobs = [executor_module._CallItem(number, *call, {}) for number, call in enumerate(calls)]
    for job in jobs:
        vars(job)[SENT] = sent

    waiting = iter([*jobs, None])
    answered: Any = SPAWN.SimpleQueue()
    incoming, outgoing = SimpleNamespace(get=lambda block: next(waiting)), _other_end(answered)
    ExecutorWorker(incoming, outgoing)
    executor_module._process_worker(incoming, outgoing, None, ())
    assert [answered.get().result for _ in calls] == [1, [1, 2], None, None]
    inside = "\n  Local inside"
    assert trees(recorder) == (
        f"Entry request\nLocal work {JOB}{inside}\nLocal work {JOB} items=2{2 * inside}\n"
        f"Local unpicklable {JOB} FAILED\nLocal fail {JOB} FAILED"
    )


# -- Process ----------------------------------------------------------------------------------------------------------


def started(process: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, str] | None:
    """The context that a child gets, which is not really started."""
    noted: list[Any] = []

    class Started:
        sentinel = 0

        def __init__(self, process: Any) -> None:
            noted.append(vars(process).get(SENT))

        def poll(self) -> int:
            return 0

    monkeypatch.setattr(type(process), "_Popen", staticmethod(Started))
    process.start()
    assert SENT not in vars(process)
    (sent,) = noted
    return sent  # type: ignore[no-any-return]


class Own(multiprocessing.Process):
    def run(self) -> None:
        """Nothing."""


@pytest.mark.parametrize(
    ("process", "name"),
    [
        (multiprocessing.Process(target=work), "work"),
        (multiprocessing.Process(target=functools.partial(work, 1)), "work"),
        (Own(target=work), "Own"),
        (multiprocessing.Process(), "Process"),
    ],
)
@pytest.mark.parametrize("error", [None, LookupError("nothing"), SystemExit(0)])
def test_the_run_of_a_child_is_one_span(
    process: Any, name: str, error: BaseException | None, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends: list[Any] = []
    monkeypatch.setattr(multiprocessing.process, "current_process", lambda: process)
    monkeypatch.setattr("multiprocessing.util.Finalize", lambda _, end, exitpriority: ends.append(end))
    with entry_span("request"):
        vars(process)[SENT] = sent_with_job()
    begin_work()
    assert SENT not in vars(process)
    try:
        if error is not None:
            raise error
    except BaseException:
        ends[0]()
    else:
        ends[0]()
    assert trees(recorder) == f"Entry request\nLocal {name} {JOB}{' FAILED' * isinstance(error, LookupError)}"


def test_a_child_gets_the_context_of_its_start(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    process = multiprocessing.Process(target=work)
    with entry_span("request"):
        expected = sent_with_job()
        assert started(process, monkeypatch) == expected
    assert expected is not None


def test_the_worker_of_a_pool_is_not_of_the_request_that_came_first(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for target in (pool_module.worker, executor_module._process_worker):
        with entry_span("request"):
            assert started(multiprocessing.Process(target=target), monkeypatch) is None


# -- what is sent -----------------------------------------------------------------------------------------------------


def test_correlation_travels_along(like: AsPool, recorder: Recorder) -> None:
    with entry_span("request") as request:
        put_correlation("tenant", "blue, green")
        like.pool.apply_async(trace_of, ("tenant",))
    like.send()
    ((_, _, answer),) = like.work()
    assert answer == (True, (request.trace_id, "blue, green"))


def test_nothing_is_recorded_in_a_job_whose_caller_is_not_recorded(like: AsPool) -> None:
    recorder = Recorder(is_ignored=lambda name: name == "ignored")
    tracers.install(recorder.tracer)
    try:
        with entry_span("ignored"):
            like.pool.apply_async(work, (1,))
        like.send()
        ((_, _, answer),) = like.work()
        assert answer == (True, 1)
        assert recorder.names == []
        work(2)
    finally:
        tracers.uninstall(recorder.tracer)
    assert recorder.names == [["inside"]]


def test_where_no_agent_runs_and_in_its_own_work_nothing_is_sent_and_nothing_begins() -> None:
    with entry_span("request"):
        assert sent_with_job() is None
    assert begin_job(work, {"sw8": "1-YQ==-YQ==-0-YQ==-YQ==-YQ==-YQ=="}) is None
    with recording(), entry_span("request"):
        token = suppress_instrumentation.set(True)
        assert sent_with_job() is None
        suppress_instrumentation.reset(token)
        for nothing in (None, {}, {"sw8": "nonsense"}):
            assert begin_job(work, nothing) is None
