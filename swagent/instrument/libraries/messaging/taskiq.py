"""taskiq: `kiq`, which sends a task, and the receiver of a worker, which runs it.

The context travels among the labels of a message, each header as a label of its own. Each attempt has an entry span.
The retries of taskiq send the task once more, with its former labels, before the attempt has ended: it has not failed
then.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any
from urllib.parse import urlsplit

from ....record.trace.model import Component
from ....record.trace.span import Span
from ...arguments import Args, Kwargs, argument
from ...call import outer_call
from ...instrumentation import Instrumentation
from ...looking import after_call, before_call
from ...patches import Patches
from ...wrapping import around_call
from ..cache.broker_pools import place_of_pool
from .message_call import add_to_mapping, begin_receive, begin_send, drop_former, note_retry


class _Attempt:
    """A task that is run here, as what it calls finds it."""

    def __init__(self, task_id: str, outer: _Attempt | None) -> None:
        self.task_id = task_id
        self.outer = outer  # that of a task which waits for this one, in the same context
        self.is_repeated = False
        self.error: BaseException | None = None


_attempt: ContextVar[_Attempt | None] = ContextVar("swagent_taskiq_attempt", default=None)


def _hook(module: Any, patches: Patches) -> None:
    if module.__name__ == "taskiq.kicker":
        patches.wrap(module.AsyncKicker, "kiq", around_call(_begin_send))
        patches.wrap(module.AsyncKicker, "_prepare_message", after_call(_carry))
    elif module.__name__ == "taskiq.receiver.receiver":
        patches.wrap(module.Receiver, "run_task", around_call(_begin_attempt, _end_attempt))
    else:
        for name in ("SimpleRetryMiddleware", "SmartRetryMiddleware"):
            if hasattr(module, name):  # the second one is newer
                patches.wrap(getattr(module, name), "on_error", before_call(_note_error))


# -- sending ----------------------------------------------------------------------------------------------------------


def _begin_send(kicker: Any, _: Args, __: Kwargs) -> Span | None:
    broker, attempt = kicker.broker, _attempt.get()
    if attempt is not None and kicker.custom_task_id == attempt.task_id:
        attempt.is_repeated = True
    address, component = _broker_of(broker)
    return begin_send(f"taskiq/{kicker.task_name}", address, component, queue=_queue_of(broker, kicker.labels))


def _carry(_: object, message: Any, __: Args, ___: Kwargs) -> None:
    span = outer_call()
    if span is not None:
        # they are this message's alone
        drop_former(message.labels, span)
        message.labels.update(add_to_mapping(message.labels, span))


def _broker_of(broker: Any) -> tuple[str, int]:
    """The address, and the component of sending: brokers are packages of their own, which say it in different ways."""
    pool, url = getattr(broker, "connection_pool", None), getattr(broker, "url", None)
    if pool is not None:
        return place_of_pool(pool), Component.REDIS
    name = type(broker).__name__
    if not isinstance(url, str):
        return name, Component.PYTHON
    component = Component.RABBITMQ_PRODUCER if url.startswith("amqp") else Component.PYTHON
    return urlsplit(url).netloc.rpartition("@")[2] or name, component


def _queue_of(broker: Any, labels: Any) -> str:
    queue = labels.get("queue_name") or getattr(broker, "queue_name", None)
    return queue if isinstance(queue, str) else ""


# -- a worker ---------------------------------------------------------------------------------------------------------


def _begin_attempt(receiver: Any, args: Args, kwargs: Kwargs) -> Span | None:
    message: Any = argument(args, kwargs, 1, "message")
    broker, labels = receiver.broker, message.labels
    _attempt.set(_Attempt(message.task_id, _attempt.get()))
    return begin_receive(
        f"taskiq/{message.task_name}",
        Component.PYTHON,
        ({"headers": labels},),
        _broker_of(broker)[0],
        queue=_queue_of(broker, labels),
        # that is not the time that it is on its way
        has_latency="delay" not in labels,
    )


def _note_error(_: object, args: Args, kwargs: Kwargs) -> None:
    """The result will not say it any more."""
    attempt = _attempt.get()
    if attempt is not None:
        attempt.error = argument(args, kwargs, 2, "exception")


def _end_attempt(span: Span, result: Any, *_: object) -> None:
    attempt = _attempt.get()
    _attempt.set(attempt and attempt.outer)
    error = result.error
    if attempt is not None and attempt.is_repeated:
        error = attempt.error or error
        if isinstance(error, BaseException):
            note_retry(span, error)
    elif isinstance(error, BaseException) and type(error).__name__ != "NoResultError":
        # a timeout is the worker's own
        span.note_outcome(error)
    span.stop()


INSTRUMENTATION = Instrumentation(
    name="taskiq",
    module="taskiq.kicker",
    also=(
        "taskiq.receiver.receiver",
        "taskiq.middlewares.simple_retry_middleware",
        "taskiq.middlewares.smart_retry_middleware",
    ),
    distribution="taskiq",
    hook=_hook,
    versions=">=0.11.20,<1",
    opentelemetry=("taskiq",),
)
