"""Tasks, and a worker of its own process that writes down what it records: `celery -A instrument.celery_app worker`."""

from __future__ import annotations

import os
from typing import Any

import celery
from celery.exceptions import SoftTimeLimitExceeded

from record.recorded import Recorder
from swagent import local_span
from swagent.instrument import instrument
from swagent.record.trace import tracer


def make_app(broker: str) -> Any:
    app: Any = celery.Celery("shop", broker=broker, backend="cache+memory://", set_as_current=False)
    app.conf.broker_connection_retry_on_startup = True
    for function in (price, fail, late):
        app.task(function, name=function.__name__, shared=False)
    app.task(again, name="again", shared=False, bind=True, max_retries=1)
    app.task(outer, name="outer", shared=False, bind=True)
    return app


def price(item: int) -> int:
    with local_span("work"):
        return item * 2


def fail() -> None:
    raise LookupError("no such order")


def late() -> None:
    raise SoftTimeLimitExceeded


def again(self: Any, has_failed: bool) -> None:
    if not self.request.retries:
        raise self.retry(countdown=0, exc=LookupError("busy") if has_failed else None)


def outer(self: Any) -> None:
    task = self.app.tasks["price"]
    task.apply(args=(1,))
    task(1)


class WritingRecorder(Recorder):
    """Writes a line for each segment: names, trace, its id and the segments that it refers to."""

    def _take(self, segment: Any) -> None:
        super()._take(segment)
        finished = self.segments[-1]
        refs = [reference.segment_id for span in finished.spans for reference in span.refs]
        line = f"{'+'.join(finished.names)} {finished.trace_id} {finished.id} {','.join(refs)}\n"
        pipe = os.open(os.environ["SEGMENTS"], os.O_WRONLY)
        os.write(pipe, line.encode())
        os.close(pipe)


if "SEGMENTS" in os.environ:
    app = make_app(os.environ["BROKER"])
    instrument("celery", "amqp")  # what amqp sends for Celery has no spans of its own
    tracer.install(WritingRecorder().tracer)
