"""RQ: a job's way through a real Redis, into this process or into one that a worker forks."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kit.real.ports import HOST
from kit.real.redis import Redis
from record.recorded import Recorder
from swagent import local_span
from swagent.instrument import instrument, uninstrument
from swagent.record.trace.model import Layer, SpanRecord
from swagent.testing import collector, outline

from . import rq_jobs
from .joins import joins
from .trees import trees

rq: Any = pytest.importorskip("rq")
redis: Any = pytest.importorskip("redis")
scheduler: Any = pytest.importorskip("rq.scheduler")

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]
INSTRUMENTED = ("rq", "redis")
COLLECTS = ("rq",)
EXAMPLES = ("rq/instrument.rq_jobs.price",)
AGAINST = "a real Redis"
NAME = "rq/instrument.rq_jobs"


def collected_by(span: SpanRecord) -> str | None:
    return "rq" if span.layer == Layer.MQ else None


@pytest.fixture
def connection(redis_server: Redis) -> Iterator[Any]:
    connection = redis.Redis(host=HOST, port=redis_server.port)
    connection.flushdb()
    rq_jobs.attempts.clear()
    yield connection
    connection.close()


@pytest.fixture
def queue(connection: Any) -> Any:
    return rq.Queue("orders", connection=connection)


def work_off(queue: Any) -> None:
    """Let a worker of this process work until the queue is empty."""
    # what the worker does for itself is none of a request
    worker = rq.SimpleWorker([queue], connection=queue.connection)
    worker.work(burst=True)


def jobs_in(recorder: Recorder) -> list[Any]:
    """The entry spans."""
    return [
        span for segment in recorder.segments for span in segment.spans if span.name.startswith("rq/") and span.refs
    ]


def shown(recorder: Recorder) -> str:
    """The trees without the commands that RQ sends to keep its books."""
    return "\n".join(line for line in trees(recorder).splitlines() if "Redis/" not in line)


def test_a_job_joins_its_sender_s_trace(recorder: Recorder, queue: Any, redis_server: Redis) -> None:
    with local_span("job"):
        queue.enqueue("instrument.rq_jobs.price", 2)
    work_off(queue)
    broker = redis_server.address
    tags = f"mq.broker={broker} mq.queue=orders"
    assert shown(recorder) == (
        f"Local job\n  Exit {NAME}.price REDIS/MQ {broker} {tags}\n"
        f"Entry {NAME}.price PYTHON/MQ {tags} transmission.latency=…\n  Local work"
    )
    assert joins(recorder) == [f"{NAME}.price <- {NAME}.price"]


def test_each_attempt_follows_the_one_before_it(recorder: Recorder, queue: Any) -> None:
    with local_span("job"):
        queue.enqueue("instrument.rq_jobs.again", retry=rq.Retry(max=1))
    work_off(queue)
    first, second = jobs_in(recorder)
    assert not first.failed
    assert not second.failed
    [(_, fields)] = first.logs
    assert dict(fields) == {**dict(fields), "event": "retry", "reason": "LookupError", "message": "busy"}
    assert second.refs[0].segment_id == first.segment.id
    assert second.refs[0].trace_id == first.refs[0].trace_id


def test_the_last_failure_and_a_job_that_takes_too_long_show(recorder: Recorder, queue: Any) -> None:
    queue.enqueue("instrument.rq_jobs.fail")
    queue.enqueue("instrument.rq_jobs.hang", job_timeout=1)
    work_off(queue)
    fail, hang = jobs_in(recorder)
    assert (fail.failed, hang.failed, dict(hang.tags)["outcome"]) == (True, False, "timed_out")
    assert dict(fail.logs[0][1])["error.kind"] == "LookupError"


def test_a_job_that_waits_for_another_follows_that_one(recorder: Recorder, queue: Any) -> None:
    first = queue.enqueue("instrument.rq_jobs.price", 2)
    queue.enqueue("instrument.rq_jobs.fail", depends_on=first)
    work_off(queue)
    price, fail = jobs_in(recorder)
    assert fail.refs[0].segment_id == price.segment.id


def test_a_job_that_was_to_wait_keeps_its_trace(recorder: Recorder, queue: Any) -> None:
    with local_span("job"):
        queue.enqueue_in(timedelta(seconds=-1), "instrument.rq_jobs.price", 2)
    mover = scheduler.RQScheduler([queue], connection=queue.connection)
    mover.acquire_locks()
    mover.enqueue_scheduled_jobs()
    work_off(queue)
    mover.release_locks()
    assert joins(recorder) == [f"{NAME}.price <- {NAME}.price"]
    [span] = jobs_in(recorder)
    assert "transmission.latency" not in dict(span.tags)


def test_a_queue_that_works_at_once_is_a_part_of_its_caller(recorder: Recorder, connection: Any) -> None:
    queue = rq.Queue("orders", connection=connection, is_async=False)
    with local_span("job"):
        assert queue.enqueue(rq_jobs.price, 2).get_status() == "finished"
    assert jobs_in(recorder) == []
    assert shown(recorder) == "Local job\n  Local work"


def test_the_application_s_meta_stays_as_it_is(recorder: Recorder, queue: Any) -> None:
    job = queue.enqueue("instrument.rq_jobs.price", 2, meta={"tenant": "acme"})
    assert rq.job.Job.fetch(job.id, connection=queue.connection).meta == {"tenant": "acme"}
    assert recorder.segments


class Decoding:
    """A serializer whose decoding shows in the trace."""

    @staticmethod
    def dumps(value: object) -> bytes:
        return pickle.dumps(value)

    @staticmethod
    def loads(data: bytes) -> Any:
        value: Any = pickle.loads(data)
        if isinstance(value, tuple):  # and not the meta
            with local_span("decoding"):
                pass
        return value


@pytest.fixture
def decoding(connection: Any) -> Any:
    return rq.Queue("orders", connection=connection, serializer=Decoding)


def refetched(queue: Any, job: Any) -> Any:
    queue.remove(job)
    return rq.job.Job.fetch(job.id, connection=queue.connection, serializer=Decoding)


def test_the_arguments_are_decoded_within_the_job(recorder: Recorder, decoding: Any) -> None:
    """Not by what sends it once more, nor in order to name it before."""
    sent = decoding.enqueue("instrument.rq_jobs.price", 2)
    with local_span("job"):
        decoding.enqueue_job(refetched(decoding, sent))
    rq.SimpleWorker([decoding], connection=decoding.connection, serializer=Decoding).work(burst=True)
    names = [line.partition(" PYTHON")[0].partition(" REDIS")[0] for line in shown(recorder).splitlines()]
    assert names == [
        f"Exit {NAME}.price", "Local job", f"  Exit {NAME}.price", f"Entry {NAME}.price", "  Local decoding",
        "  Local work",
    ]  # fmt: skip


def test_a_job_of_an_unknown_function_has_its_queue_s_name(recorder: Recorder, decoding: Any) -> None:
    uninstrument("rq")
    job = decoding.enqueue("instrument.rq_jobs.price", 2)
    instrument("rq")
    decoding.enqueue_job(refetched(decoding, job))
    assert shown(recorder).startswith("Exit rq/orders REDIS/MQ")
    assert "decoding" not in shown(recorder)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="its worker forks")
def test_what_a_forked_process_records_is_delivered(redis_server: Redis, queue: Any, tmp_path: Path) -> None:
    """`rq worker` works on each job in a process of its own, which ends by `os._exit`."""
    pytest.importorskip("grpclib")
    script = tmp_path / "sending.py"
    script.write_text(
        f"import redis, rq\nqueue = rq.Queue('orders', connection=redis.Redis(port={redis_server.port}))\n"
        "for number in range(3):\n    queue.enqueue('instrument.rq_jobs.price', number)\n"
    )
    run = [sys.executable, "-m", "swagent", "run", "--"]
    path = os.pathsep.join(filter(None, [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")]))
    with collector() as arrived:
        environ = {**os.environ, **arrived.environ, "SW_AGENT_NAME": "shop", "PYTHONPATH": path}
        subprocess.run([*run, sys.executable, str(script)], env=environ, check=True, timeout=120)
        url = f"redis://{redis_server.address}"
        worker = [sys.executable, "-m", "rq.cli", "worker", "--burst", "--url", url, queue.name]
        subprocess.run([*run, *worker], env=environ, check=True, timeout=120, capture_output=True)
        arrived.wait(lambda found: len(found.segments) >= 6)
        recorded = outline(arrived.segments)
    assert recorded.count(f"shop exit {NAME}.price") == 3
    assert recorded.count(f"\n    shop entry {NAME}.price") == 3, "below the exit span"
    assert recorded.count("shop local work") == 3
