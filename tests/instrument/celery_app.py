"""Tasks, also for a worker of its own process: `celery -A instrument.celery_app worker`."""

from __future__ import annotations

import os
from typing import Any

import celery
from celery.exceptions import SoftTimeLimitExceeded

from swagent import local_span


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


if "BROKER" in os.environ:
    app = make_app(os.environ["BROKER"])
