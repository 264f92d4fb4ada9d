"""Celery: a task's way from its sender through a broker into a worker, and its retries.

Without a broker the messages stay in memory, and are worked off here by what a worker's processes do, too.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from kit.real.jvm import start_program
from kit.real.rabbitmq import RabbitMQ
from record.recorded import Recorder
from swagent import exit_span, local_span
from swagent.instrument import instrument, uninstrument
from swagent.instrument.settings import Settings, use
from swagent.testing import RunningCollector, collector

from .joins import check_attempts, joins
from .trees import trees
from .watcher import Watcher

celery = pytest.importorskip("celery")
from celery.app.task import Context  # noqa: E402
from celery.app.trace import build_tracer  # noqa: E402

from .celery_app import make_app  # noqa: E402

INSTRUMENTED = ("celery",)
# the collector looks at the records of a worker
NEEDS = ("grpclib>=0.4.9", "protobuf>=5.26", "starlette>=0.40", "uvicorn>=0.32")
AGAINST = "a real RabbitMQ"
real_broker = [pytest.mark.e2e, pytest.mark.timeout(600)]
SENT = "Exit celery/price CELERY/MQ memory mq.broker=memory mq.queue=celery"
DONE = "Entry celery/price CELERY/MQ mq.broker=memory transmission.latency=… mq.queue=celery"


@pytest.fixture(scope="module")
def app() -> Any:
    return make_app("memory://")


def work_off(app: Any) -> list[dict[str, Any]]:
    """Work off what is in the queue, and return the messages' headers."""
    found: list[dict[str, Any]] = []
    with app.connection_for_read() as connection, connection.SimpleQueue("celery") as waiting:
        while True:
            try:
                message = waiting.get(block=False)
            except queue.Empty:
                return found
            message.ack()
            found.append(dict(message.headers))
            args, kwargs, embedded = message.payload
            task = app.tasks[message.headers["task"]]
            request = {**message.headers, **embedded, "delivery_info": {"exchange": "", "routing_key": "celery"}}
            build_tracer(task.name, task, app=app)(message.headers["id"], args, kwargs, request)


def test_a_task_joins_its_sender_s_trace(recorder: Recorder, app: Any) -> None:
    with local_span("job"):
        app.tasks["price"].delay(2)
    work_off(app)
    assert trees(recorder) == f"Local job\n  {SENT}\n{DONE}\n  Local work"
    assert joins(recorder) == ["celery/price <- celery/price"]


def test_a_task_is_shown_to_its_sender_and_to_its_worker(recorder: Recorder, app: Any, watcher: Watcher) -> None:
    watcher.watch("celery")
    app.tasks["price"].delay(2)
    work_off(app)
    assert watcher.requests == [("celery/price", ("price", (2,), {}))]
    assert watcher.responses == [("celery/price", app.tasks["price"])]
    assert not watcher.has_seen_ended
    assert trees(recorder) == f"{SENT}\n{DONE}\n  Local work"


def test_headers_of_the_application_s_own_stay(recorder: Recorder, app: Any) -> None:
    own = {"tenant": "acme", "sw8": "mine"}
    app.send_task("price", (2,), headers=own)
    [headers] = work_off(app)
    assert (headers["tenant"], headers["sw8"]) == ("acme", "mine")
    assert own == {"tenant": "acme", "sw8": "mine"}
    assert joins(recorder) == []


def test_a_call_inside_a_call_carries_the_outer_one(recorder: Recorder, app: Any) -> None:
    with exit_span("by hand", "queue.test:1"):
        app.tasks["price"].delay(2)
    work_off(app)
    assert joins(recorder) == ["celery/price <- by hand"]


@pytest.mark.parametrize("is_failure", [True, False])
def test_each_attempt_follows_the_one_before_it(is_failure: bool, recorder: Recorder, app: Any) -> None:
    with local_span("job"):
        app.tasks["again"].delay(is_failure)
    work_off(app)
    check_attempts(recorder, "celery/again", "LookupError" if is_failure else "")


def test_a_task_that_is_called_directly_is_a_part_of_its_caller(recorder: Recorder, app: Any) -> None:
    app.tasks["outer"].delay()
    work_off(app)
    assert recorder.names == [["celery/outer"], ["celery/outer", "work", "work"]]


def test_a_failure_and_a_timeout_show(recorder: Recorder, app: Any) -> None:
    app.tasks["fail"].delay()
    app.tasks["late"].delay()
    work_off(app)
    failed, late = (segment.spans[0] for segment in recorder.segments if segment.spans[0].refs)
    assert failed.failed
    assert dict(failed.logs[0][1])["error.kind"] == "LookupError"
    assert dict(late.tags)["outcome"] == "timed_out"
    assert not late.failed


def test_taken_back_it_records_nothing(recorder: Recorder, app: Any) -> None:
    uninstrument("celery")
    app.tasks["price"].delay(2)
    [headers] = work_off(app)
    assert "sw8" not in headers
    assert recorder.names == [["work"]]


def test_parameters_are_shown_where_they_are_asked_for(recorder: Recorder, app: Any) -> None:
    use(Settings(celery_parameters_max_length=8))
    app.tasks["price"].delay(2)
    work_off(app)
    assert [dict(segment.spans[-1].tags)["celery.parameters"] for segment in recorder.segments] == [
        "*(2,), *",
        "*[2], **",
    ]


# -- with a broker ----------------------------------------------------------------------------------------------------


class TestThroughARealBroker:
    pytestmark = real_broker

    @pytest.fixture(autouse=True)
    def amqp(self) -> Iterator[None]:
        """Recorded, too: no message has two spans."""
        instrument("amqp")
        yield
        uninstrument("amqp")

    def test_what_celery_sends_for_itself_is_not_recorded(self, recorder: Recorder, rabbitmq: RabbitMQ) -> None:
        app = make_app(rabbitmq.url)
        app.conf.result_backend = "rpc://"
        backend = app.backend
        with app.connection_for_write() as connection:
            queue = connection.SimpleQueue("results-" + uuid4().hex[:8], queue_opts={"auto_delete": True})
            request = Context(reply_to=queue.queue.name, correlation_id="1", id="1")
            with local_span("job"):
                backend.store_result("1", 2, "SUCCESS", request=request)
                app.events.Dispatcher(connection).send("worker-heartbeat")
                app.control.broadcast("ping", connection=connection)
                app.control.mailbox(connection)._publish_reply(
                    {"ok": 1}, "", queue.queue.name, "ticket", channel=connection.default_channel
                )
            uninstrument("amqp")  # before the messages are taken out
            assert "sw8" not in queue.get().headers
            assert "sw8" not in queue.get().headers
            queue.clear()
            queue.close()
        assert recorder.names == [["job"]]

    @pytest.mark.parametrize("pool", ["prefork", "solo", "threads"])
    def test_a_worker_joins_its_sender_s_trace(
        self, pool: str, recorder: Recorder, rabbitmq: RabbitMQ, tmp_path: Path
    ) -> None:
        app = make_app(rabbitmq.url)
        app.conf.task_default_queue = tasks = f"tasks-{uuid4().hex[:8]}"
        with local_span("job"):
            app.tasks["price"].delay(2)
            app.tasks["again"].delay(True)
        with collector() as arrived, _working(pool, rabbitmq.url, tasks, tmp_path, arrived):
            arrived.wait(lambda found: len(found.segments) >= 3, 240)
        found = {"+".join(sorted(span.operation for span in each.spans)): each for each in arrived.segments}
        assert {each.trace_id for each in found.values()} == {recorder.only.trace_id}
        former = {
            name: [reference.segment_id for span in each.spans for reference in span.references]
            for name, each in found.items()
        }
        attempt = "celery/again+celery/again"
        assert former == {
            "celery/price+work": [recorder.only.id],
            attempt: [recorder.only.id],
            "celery/again": [found[attempt].segment_id],
        }


@contextmanager
def _working(pool: str, broker: str, tasks: str, folder: Path, arrived: RunningCollector) -> Iterator[None]:
    """A block in which a worker of a process of its own, or of more, works."""
    log = folder / "worker.log"
    path = os.pathsep.join(filter(None, [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")]))
    environment = {**arrived.environ, "SW_AGENT_NAME": "shop", "BROKER": broker, "PYTHONPATH": path}
    # a name of its own: the broker refuses one that a worker before it has had until it knows of that one's end
    options = ("-A", "instrument.celery_app", "worker", "-c", "2", "-P", pool, "-Q", tasks, "-n", f"{tasks}@localhost")
    command = [sys.executable, "-m", "swagent", "run", "--", sys.executable, "-m", "celery", *options]
    worker = start_program(command, home=folder, log=log, environment=environment)
    try:
        yield
        worker.terminate()
        worker.wait()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
        print(log.read_text(errors="replace"))


def test_a_task_that_was_to_wait_says_nothing_of_the_way(recorder: Recorder, app: Any) -> None:
    app.tasks["price"].apply_async((2,), countdown=1)
    app.tasks["price"].apply_async((2,))
    work_off(app)
    tags = [dict(span.tags) for segment in recorder.segments for span in segment.spans if span.refs]
    assert [tag.get("transmission.latency") is not None for tag in tags] == [False, True]
