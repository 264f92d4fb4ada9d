"""Celery: `Celery.send_task`, which `apply_async`, `delay`, chains, retries and its beat come through, and the signals
around a task in a worker, whatever pool it is in.

The context travels in the message's headers. A retry sends the headers that its attempt came with once more: those of
ours among them are replaced, so that each attempt follows the one before it. A task that is called directly or eagerly
is a part of its caller. What Celery sends for itself is not recorded: events, heartbeats, the commands of
`control`, and results by `rpc://`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ....record.bounded_cache import remembered
from ....record.limits import as_text
from ....record.trace.model import Component
from ....record.trace.outcome import Outcome
from ....record.trace.span import Span
from ...arguments import Args, Kwargs, argument
from ...call import outer_call, safely
from ...instrumentation import Instrumentation
from ...listeners import Listener
from ...looking import after_call
from ...patches import Patches
from ...settings import current as settings
from ...showing import showing_request
from ...wrapping import around_call
from ..cache.broker_pools import note_broker_pool
from .message_call import add_to_mapping, begin_receive, begin_send, drop_former, note_retry, suppressing

_SPAN = "_swagent_span"
_REDIS = "kombu.transport.redis"
# What sends or fetches for Celery itself, through a client that may be recorded.
_OWN = {
    "celery.backends.rpc": ("RPCBackend", ("store_result", "get_task_meta", "poll")),
    "celery.events.dispatcher": ("EventDispatcher", ("_publish",)),
    "kombu.pidbox": ("Mailbox", ("_publish", "_publish_reply")),
}
_PORTS = {"amqp": 5672, "amqps": 5671, "pyamqp": 5672, "redis": 6379, "rediss": 6379}


def _hook(module: Any, patches: Patches) -> None:
    if module.__name__ == _REDIS:
        for channel in (module.Channel, module.SentinelChannel):
            patches.wrap(channel, "_get_pool", after_call(_note_pool))
        return
    if module.__name__ in _OWN:
        owner, methods = _OWN[module.__name__]
        for method in methods:
            patches.wrap(getattr(module, owner), method, suppressing)
        return
    patches.wrap(
        module.Celery, "send_task", around_call(showing_request(patches.listeners.on_request, _begin_send, _sent))
    )
    signals = module.signals
    for signal, receiver in (
        (signals.before_task_publish, _before_publish),
        (signals.task_prerun, partial(_begin, patches.listeners.on_response)),
        (signals.task_failure, _failed),
        (signals.task_retry, _retried),
        (signals.task_postrun, _end),
    ):
        signal.connect(receiver, weak=False, dispatch_uid=_SPAN)
        patches.on_undo(_disconnect(signal, receiver))


def _disconnect(signal: Any, receiver: Any) -> Callable[[], object]:
    return lambda: signal.disconnect(receiver, dispatch_uid=_SPAN)


def _note_pool(_: object, pool: Any, *__: object) -> None:
    """An idle worker with a Redis for its broker sends several commands a second, and none is a task's."""
    note_broker_pool(pool)


class SentTask(NamedTuple):
    """A task, as the application sends it and `on_request` sees it."""

    name: str
    args: Any
    kwargs: Any


# -- sending ----------------------------------------------------------------------------------------------------------


def _begin_send(app: Any, args: Args, kwargs: Kwargs) -> Span | None:
    span = begin_send(f"celery/{argument(args, kwargs, 0, 'name')}", _broker_of(app), Component.CELERY)
    if span is not None:
        _tag_parameters(span, argument(args, kwargs, 1, "args"), argument(args, kwargs, 2, "kwargs"))
    return span


def _sent(_: object, args: Args, kwargs: Kwargs) -> SentTask:
    fields = enumerate(SentTask._fields)
    return SentTask(*(argument(args, kwargs, place, name) for place, name in fields))


def _before_publish(
    headers: Any = None, exchange: Any = None, routing_key: Any = None, **_: Any
) -> None:  # fmt: skip
    """A message is about to go out: its headers are what the worker will get."""
    safely(_carry, headers, exchange, routing_key)


def _carry(headers: Any, exchange: Any, routing_key: Any) -> None:
    span = outer_call()
    if span is None or headers is None:
        return
    if span.component == Component.CELERY:
        _tag_place(span, exchange, routing_key)
        drop_former(headers, span)
    headers.update(add_to_mapping(headers, span))


# -- a task in a worker -----------------------------------------------------------------------------------------------


def _begin(listener: Listener | None, task: Any = None, args: Any = None, kwargs: Any = None, **_: Any) -> None:
    safely(_begin_task, listener, task, args, kwargs)


def _begin_task(listener: Listener | None, task: Any, args: Any, kwargs: Any) -> None:
    request = task.request
    if request.is_eager or request.called_directly:
        return
    sent: dict[str, Any] = {**(request.headers or {}), **vars(request)}
    span = begin_receive(
        f"celery/{task.name}",
        Component.CELERY,
        ({"headers": sent},),
        _broker_of(task.app),
        has_latency=request.eta is None,
    )
    if span is not None:
        place: Any = request.delivery_info or {}
        _tag_place(span, place.get("exchange"), place.get("routing_key"))
        _tag_parameters(span, args, kwargs)
        setattr(request, _SPAN, span)
        if listener is not None:
            listener.show(span, lambda: task)


def _failed(sender: Any = None, exception: Any = None, **_: Any) -> None:
    safely(_note_failure, sender, exception)


def _note_failure(task: Any, error: Any) -> None:
    span = _span_of(task)
    if span is None or not isinstance(error, BaseException):
        return
    if type(error).__name__ == "SoftTimeLimitExceeded":
        span.tag_outcome(Outcome.TIMED_OUT)
    else:
        span.note_outcome(error)


def _retried(sender: Any = None, reason: Any = None, **_: Any) -> None:
    """One more attempt follows: no failure yet, but the exception that the retry names."""
    safely(_note_reason, sender, getattr(reason, "exc", None))


def _note_reason(task: Any, error: Any) -> None:
    span = _span_of(task)
    if span is not None and isinstance(error, BaseException):
        note_retry(span, error)


def _end(task: Any = None, **_: Any) -> None:
    safely(_end_task, task)


def _end_task(task: Any) -> None:
    span = _span_of(task)
    if span is not None:
        delattr(task.request, _SPAN)
        span.stop()


def _span_of(task: Any) -> Span | None:
    span: Span | None = task.request.__dict__.get(_SPAN)
    return span


# -- both -------------------------------------------------------------------------------------------------------------


def _tag_place(span: Span, exchange: Any, routing_key: Any) -> None:
    if exchange:
        span.tag("mq.topic", getattr(exchange, "name", exchange))
    if routing_key:
        span.tag("mq.queue", routing_key)


def _tag_parameters(span: Span, args: Any, kwargs: Any) -> None:
    length = settings().celery_parameters_max_length
    if length > 0:
        span.tag("celery.parameters", f"*{as_text(args or ())}, **{as_text(kwargs or {})}"[:length])


def _broker_of(app: Any) -> str:
    url: Any = app.conf.broker_write_url or app.conf.broker_url or "amqp://localhost"
    return _addresses_in(url if isinstance(url, str) else ";".join(url))


@remembered(64)
def _addresses_in(urls: str) -> str:
    """The brokers' addresses; of one without, such as that in memory, the kind of transport."""
    found: list[str] = []
    for url in urls.split(";"):
        parts = urlsplit(url)
        scheme = parts.scheme.partition("+")[0]
        port = parts.port or _PORTS.get(scheme)
        host = parts.hostname or ("localhost" if scheme in _PORTS else scheme)
        found.append(f"{host}:{port}" if port else host)
    return ";".join(found)


INSTRUMENTATION = Instrumentation(
    name="celery",
    module="celery.app.base",
    also=(_REDIS, *_OWN),
    hook=_hook,
    versions=">=5.3,<6",
    plugins=("sw_celery",),
    opentelemetry=("celery",),
    shows_calls=True,
)
