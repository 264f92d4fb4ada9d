"""RQ: what puts a job into a queue, and `perform_job` of a worker.

The context is a field of its own, with the name of the job's function, in the hash that Redis keeps of a job: the job's
`meta` is the application's, and a worker without the agent does not look at the field. It is written where the job is
saved in order to be sent. Each attempt has an entry span. A job's process ends by `os._exit` once the job is done: what
it has recorded is delivered before.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ....hosting.idle_worker import stop_within
from ....record.trace.model import Component
from ....record.trace.outcome import Outcome
from ....record.trace.span import Span
from ....record.trace.transmission import HEADER
from ....stop_budgets import TERMINATED_FLUSH
from ...arguments import Args, Kwargs, argument
from ...call import end_call
from ...instrumentation import Instrumentation
from ...looking import after_call, at_end_of_call, before_call
from ...patches import Patches, home_of
from ...wrapping import around_call
from ..cache.broker_pools import place_of_pool
from .message_call import begin_receive, begin_send, note_retry, sent_along, suppressing

_FIELD = "swagent"
_FUNCTION = "function"
# Attributes of a job.
_SENT, _WAITS, _ERROR, _IS_REPEATED = "_swagent_sent", "_swagent_waits", "_swagent_error", "_swagent_is_repeated"


def _hook(module: Any, patches: Patches) -> None:
    if module.__name__ == "rq.queue":
        patches.wrap(module.Queue, "enqueue_job", around_call(_begin_send))
        patches.wrap(module.Queue, "_enqueue_job", around_call(_begin_send))
        patches.wrap(module.Queue, "schedule_job", around_call(_begin_schedule))
    elif module.__name__ == "rq.job":
        patches.wrap(module.Job, "to_dict", after_call(_carry))
        patches.wrap(module.Job, "restore", after_call(_remember))
        patches.wrap(module.Job, "retry", before_call(_note_repeated))
    elif module.__name__ == "rq.scheduler":
        # it moves jobs whose time has come: they keep the context of what sent them
        patches.wrap(module.RQScheduler, "enqueue_scheduled_jobs", suppressing)
    else:
        # all kinds of workers have them from there
        patches.wrap(home_of(module.Worker, "handle_exception"), "handle_exception", before_call(_note_error))
        patches.wrap(home_of(module.Worker, "perform_job"), "perform_job", _recording)


# -- sending ----------------------------------------------------------------------------------------------------------


def _begin_send(queue: Any, args: Args, kwargs: Kwargs) -> Span | None:
    job: Any = argument(args, kwargs, 0, "job")
    # a queue that is not asynchronous works on the job within this call
    if not queue._is_async:  # noqa: SLF001
        return None
    return begin_send(f"rq/{_function_of(job) or queue.name}", _broker_of(queue), Component.REDIS, queue=queue.name)


def _begin_schedule(queue: Any, args: Args, kwargs: Kwargs) -> Span | None:
    setattr(argument(args, kwargs, 0, "job"), _WAITS, True)
    return _begin_send(queue, args, kwargs)


def _function_of(job: Any) -> str | None:
    """The name of a job's function, as far as it is known. To ask the job for it would decode the arguments too: that
    imports their classes, may fail, and is for the job's own process and within its timeout."""
    name: object = job.__dict__.get("_func_name")
    if isinstance(name, str):
        return name
    sent: dict[str, str] = job.__dict__.get(_SENT) or {}
    return sent.get(_FUNCTION)


def _broker_of(thing: Any) -> str:
    """The address of a queue's or a worker's Redis."""
    return place_of_pool(thing.connection.connection_pool)


def _carry(job: Any, fields: Any, *_: object) -> None:
    added = sent_along(None)
    if added:
        if job.__dict__.get(_WAITS):
            # that is not the time that it is on its way
            added.pop(HEADER, None)
        function = _function_of(job)
        fields[_FIELD] = json.dumps({**added, _FUNCTION: function} if function else added)


# -- a worker ---------------------------------------------------------------------------------------------------------


def _remember(job: Any, _: object, args: Args, kwargs: Kwargs) -> None:
    fields: Any = argument(args, kwargs, 0, "raw_data")
    sent = fields.get(_FIELD.encode()) or fields.get(_FIELD)
    setattr(job, _SENT, json.loads(sent) if sent else None)


def _recording(perform_job: Callable[..., Any]) -> Callable[..., Any]:
    return at_end_of_call(_deliver)(around_call(_begin_attempt, _end_attempt)(perform_job))


def _deliver(worker: Any) -> None:
    if worker._is_horse:  # noqa: SLF001
        stop_within(TERMINATED_FLUSH)


def _begin_attempt(worker: Any, args: Args, kwargs: Kwargs) -> Span | None:
    job: Any = argument(args, kwargs, 0, "job")
    queue: Any = argument(args, kwargs, 1, "queue")
    sent = {"headers": job.__dict__.get(_SENT)}
    function = _function_of(job) or job.func_name  # of a sender without the agent
    return begin_receive(f"rq/{function}", Component.PYTHON, (sent,), _broker_of(worker), queue=queue.name)


def _note_error(_: object, args: Args, __: Kwargs) -> None:
    job, _kind, error, *_traceback = args
    setattr(job, _ERROR, error)


def _note_repeated(job: Any, *_: object) -> None:
    setattr(job, _IS_REPEATED, True)


def _end_attempt(span: Span, _: object, __: object, args: Args, kwargs: Kwargs) -> None:
    """The worker has seen how an attempt ended, and may have sent the job once more."""
    job: Any = argument(args, kwargs, 0, "job")
    error: BaseException | None = job.__dict__.pop(_ERROR, None)
    is_repeated: bool = job.__dict__.pop(_IS_REPEATED, False)
    if error is None:
        span.stop()
        return
    is_timeout = type(error).__name__ == "JobTimeoutException"
    if is_timeout:
        span.tag_outcome(Outcome.TIMED_OUT)
    if is_repeated:
        note_retry(span, error)
    end_call(span, None if is_timeout or is_repeated else error)


INSTRUMENTATION = Instrumentation(
    name="rq",
    module="rq.queue",
    also=("rq.job", "rq.scheduler", "rq.worker"),
    distribution="rq",
    hook=_hook,
    versions=">=1.16,<4",
)
