"""arq: `enqueue_job`, and the functions of a worker.

The context travels beside the arguments in what is kept of a job: a worker without the agent does not look at it. Each
attempt has an entry span, for as long as the job's function runs. That a worker looks for jobs twice a second is not
recorded.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

from ....record.suppression import suppress_instrumentation
from ....record.trace.model import Component
from ....record.trace.outcome import Outcome
from ....record.trace.span import Span
from ....record.trace.transmission import HEADER, ArrivedMessage
from ...arguments import Args, Kwargs, argument
from ...call import end_call, safely
from ...instrumentation import Instrumentation
from ...looking import after_call
from ...patches import Patches
from ...rewriting import rewriting_call
from ...wrapping import around_call
from .message_call import begin_receive, begin_send, note_retry, sent_along

# By how much a loop's timers may be early.
_TOLERANCE = 0.02
_sent: ContextVar[Any] = ContextVar("swagent_arq_sent", default=None)


def _hook(module: Any, patches: Patches) -> None:
    if module.__name__ == "arq.connections":
        patches.wrap(module.ArqRedis, "enqueue_job", around_call(_begin_send))
        patches.wrap(module, "serialize_job", rewriting_call(_carry))
        return
    again = (module.Retry, module.RetryJob)
    patches.wrap(module.Worker, "__init__", after_call(functools.partial(_trace_functions, again)))
    patches.wrap(module.Worker, "run_job", functools.partial(_with_suppression, False))
    patches.wrap(module.Worker, "_poll_iteration", functools.partial(_with_suppression, True))
    patches.wrap(module, "deserialize_job_raw", rewriting_call(_remember))


# -- sending ----------------------------------------------------------------------------------------------------------


def _begin_send(redis: Any, args: Args, kwargs: Kwargs) -> Span | None:
    function, queue = argument(args, kwargs, 0, "function"), kwargs.get("_queue_name")
    return begin_send(f"arq/{function}", _broker_of(redis), Component.REDIS, queue=queue or redis.default_queue_name)


def _broker_of(redis: Any) -> str:
    settings = redis.connection_pool.connection_kwargs
    return f"{settings['host']}:{settings['port']}" if "host" in settings else str(settings.get("path", "redis"))


def _carry(args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    # it is given by name alone
    serializer = _carrying(kwargs.get("serializer"))
    return args, kwargs if serializer is None else {**kwargs, "serializer": serializer}


def _carrying(serializer: Any) -> Callable[[Any], Any] | None:
    """One that writes the context of what is under way, too; None: there is none."""
    added = sent_along(None)
    if not added:
        return None
    # the worker knows when the job was due, which is not when it was sent
    added.pop(HEADER, None)
    write = serializer or _of_arq("dumps")
    return lambda job: write({**added, **job})


def _of_arq(name: str) -> Callable[[Any], Any]:
    """The function with which arq writes or reads its jobs, unless the application chose another one."""
    function: Callable[[Any], Any] = getattr(vars(sys.modules["arq.jobs"])["pickle"], name)
    return function


# -- a worker ---------------------------------------------------------------------------------------------------------


def _remember(args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """The arguments with what keeps a job. The caller's task starts the job's, which has the same context."""
    # it is given by name alone
    if len(args) + len(kwargs) - ("deserializer" in kwargs) != 1:
        return args, kwargs
    return args, {**kwargs, "deserializer": _remembering(kwargs.get("deserializer"))}


def _remembering(deserializer: Any) -> Callable[[Any], Any]:
    """One that keeps what it has read, for the job's span."""
    read = deserializer or _of_arq("loads")

    def remembering(raw: Any) -> Any:
        job: Any = read(raw)
        _sent.set(job)
        return job

    return remembering


def _with_suppression(is_suppressed: bool, function: Callable[..., Any]) -> Callable[..., Any]:
    async def traced(*args: Any, **kwargs: Any) -> Any:
        token = suppress_instrumentation.set(is_suppressed)
        try:
            return await function(*args, **kwargs)
        finally:
            # an iterator that is closed elsewhere is in another context
            with suppress(ValueError):
                suppress_instrumentation.reset(token)

    return traced


def _trace_functions(again: tuple[type[BaseException], ...], worker: Any, *_: object) -> None:
    """In copies: other workers may have the same functions."""
    for name, function in list(worker.functions.items()):
        timeout = worker.job_timeout_s if function.timeout_s is None else function.timeout_s
        traced = copy.copy(function)
        traced.coroutine = _traced(function.coroutine, name, worker.queue_name, timeout, again)
        worker.functions[name] = traced


def _traced(
    coroutine: Callable[..., Any], name: str, queue: str, timeout: float | None, again: tuple[type[BaseException], ...]
) -> Callable[..., Any]:
    async def run(deadline: float | None, ctx: Any, /, *args: Any, **kwargs: Any) -> Any:
        span = safely(_begin, ctx, name, queue)
        if span is None:
            return await coroutine(ctx, *args, **kwargs)
        try:
            result = await coroutine(ctx, *args, **kwargs)
        except BaseException as error:
            safely(_end_failed, span, error, deadline, again)
            raise
        safely(end_call, span)
        return result

    @functools.wraps(coroutine)
    def traced(ctx: Any, /, *args: Any, **kwargs: Any) -> Any:
        # The worker calls this just before it starts its timer: on a busy machine the coroutine begins much later.
        deadline = time.monotonic() + timeout - _TOLERANCE if timeout is not None else None
        return run(deadline, ctx, *args, **kwargs)

    return traced


def _begin(ctx: Any, name: str, queue: str) -> Span | None:
    # its place in the queue is the time when the job was due; a further attempt was not sent at that time
    arrived, is_first = ArrivedMessage(_sent.get(), ctx.get("score")), ctx.get("job_try") == 1
    broker = _broker_of(ctx["redis"])
    return begin_receive(f"arq/{name}", Component.PYTHON, (arrived,), broker, queue=queue, has_latency=is_first)


def _end_failed(
    span: Span, error: BaseException, deadline: float | None, again: tuple[type[BaseException], ...]
) -> None:
    if isinstance(error, again):
        if error.__cause__ is not None:
            note_retry(span, error.__cause__)
        span.stop()
    elif isinstance(error, asyncio.CancelledError) and deadline is not None and time.monotonic() >= deadline:
        # the worker alone knows that this is its timeout
        span.tag_outcome(Outcome.TIMED_OUT)
        span.stop()
    else:
        end_call(span, error)


INSTRUMENTATION = Instrumentation(
    name="arq",
    module="arq.connections",
    also=("arq.worker",),
    distribution="arq",
    hook=_hook,
    versions=">=0.25,<1",
)
