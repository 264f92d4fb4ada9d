"""dramatiq: `enqueue` of every broker, and the messages that a worker's threads work on.

The context travels among the options of a message, which a worker without the agent does not look at. It is written
when the message is encoded, and taken out before a worker's thread works on it: the application's message stays as it
is. Each attempt has an entry span, which ends before the message is acknowledged. What fetches and acknowledges
messages, and sends delayed ones on, records nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from weakref import WeakSet

from ....record.trace.model import Component
from ....record.trace.outcome import Outcome
from ....record.trace.span import Span
from ....record.trace.transmission import HEADER
from ...arguments import Args, Kwargs, argument
from ...call import end_call, safely
from ...instrumentation import Instrumentation
from ...looking import after_call, before_call
from ...patches import Patches
from ...rewriting import rewriting_call
from ...wrapping import around_call
from ..cache.broker_pools import place_of_pool
from .message_call import begin_receive, begin_send, note_retry, sent_along, suppressing

_OPTION = "swagent"
_ATTEMPT = "_swagent_attempt"
_THREADS = ("WorkerThread", "ConsumerThread")
_ENDS = ("process_message", "skip_message")
# By the names of the exceptions that dramatiq raises in a thread from outside.
_INTERRUPTS = {"TimeLimitExceeded": Outcome.TIMED_OUT, "Shutdown": Outcome.CANCELLED}


def _hook(module: Any, patches: Patches) -> None:
    if module.__name__ == "dramatiq.message":
        patches.wrap(module.Message, "encode", rewriting_call(_carry))
    elif module.__name__ == "dramatiq.worker":
        # they had an underscore before 2.0
        worker, consumer = (getattr(module, name, None) or getattr(module, f"_{name}") for name in _THREADS)
        patches.wrap(worker, "process_message", around_call(_begin_attempt))
        for name in ("run", "post_process_message", "requeue_messages", "close"):
            patches.wrap(consumer, name, suppressing)
    else:
        patches.wrap(module.Broker, "emit_after", after_call(_end_attempt))
        trace_enqueue = _Tracing(patches)
        patches.wrap(module.Broker, "__init__", before_call(trace_enqueue))
        for kind in _kinds_of(module.Broker):
            trace_enqueue.of(kind)


def _kinds_of(broker: type) -> Iterator[type]:
    yield broker
    for each in list[type](type.__subclasses__(broker)):
        yield from _kinds_of(each)


class _Tracing:
    """Brokers are modules of their own, some of other projects: a class is known once a broker of it is made."""

    def __init__(self, patches: Patches) -> None:
        self._patches = patches
        self._known: WeakSet[type] = WeakSet()

    def __call__(self, broker: Any, *_: object) -> None:
        for kind in type(broker).__mro__:
            self.of(kind)

    def of(self, kind: type) -> None:
        if "enqueue" in vars(kind) and kind not in self._known:
            self._known.add(kind)
            self._patches.wrap(kind, "enqueue", around_call(_begin_send))


# -- sending ----------------------------------------------------------------------------------------------------------


def _begin_send(broker: Any, args: Args, kwargs: Kwargs) -> Span | None:
    message: Any = argument(args, kwargs, 0, "message")
    address, component, _ = _broker_of(broker)
    return begin_send(f"dramatiq/{message.actor_name}", address, component, queue=message.queue_name)


def _broker_of(broker: Any) -> tuple[str, int, int]:
    """The address, and the components of sending and receiving."""
    found: dict[str, Any] = broker.__dict__
    if "client" in found:
        return place_of_pool(found["client"].connection_pool), Component.REDIS, Component.PYTHON
    if "parameters" in found:
        given: Any = found["parameters"]
        parameters: list[Any] = [given] if hasattr(given, "host") else given
        address = ";".join(f"{each.host}:{each.port}" for each in parameters)
        return address, Component.RABBITMQ_PRODUCER, Component.RABBITMQ_CONSUMER
    return type(broker).__name__, Component.PYTHON, Component.PYTHON


def _carry(args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    message: Any = args[0]
    added = sent_along(None)
    if not added:
        return args, kwargs
    if message.options.get("eta") is not None:
        # it is to wait: that is not the time that it is on its way
        added.pop(HEADER, None)
    return (message.copy(options={_OPTION: added}), *args[1:]), kwargs


# -- a worker ---------------------------------------------------------------------------------------------------------


def _begin_attempt(thread: Any, args: Args, kwargs: Kwargs) -> Span | None:
    message: Any = argument(args, kwargs, 0, "message")
    address, _, component = _broker_of(thread.broker)
    # actors and middleware look at the options, and some send them on; whatever is sent gets a context of its own
    sent, retries = {"headers": message.options.pop(_OPTION, None)}, _retries_of(message)
    span = begin_receive(f"dramatiq/{message.actor_name}", component, (sent,), address, queue=message.queue_name)
    if span is not None:
        setattr(message, _ATTEMPT, (span, retries))
    return span


def _retries_of(message: Any) -> int:
    return int(message.options.get("retries") or 0)


def _end_attempt(_: object, __: object, args: Args, kwargs: Kwargs) -> None:
    """The middleware has seen how an attempt ended, and may have sent the message once more."""
    if argument(args, kwargs, 0, "signal") not in _ENDS:
        return
    message: Any = argument(args, kwargs, 1, "message")
    attempt: tuple[Span, int] | None = message.__dict__.pop(_ATTEMPT, None)
    if attempt is not None:
        span, retries = attempt
        error = kwargs.get("exception")
        is_repeated = not message.failed and _retries_of(message) > retries
        safely(_note_end, span, error, is_repeated)
        span.stop()


def _note_end(span: Span, error: BaseException | None, is_repeated: bool) -> None:
    if error is None:
        return
    outcome = _INTERRUPTS.get(type(error).__name__)
    if outcome is not None:
        span.tag_outcome(outcome)
    if is_repeated:
        # one that asks for another attempt has a reason only where it names one
        reason = error.__cause__ if type(error).__name__ == "Retry" else error
        if reason is not None:
            note_retry(span, reason)
    elif outcome is None:
        end_call(span, error)


INSTRUMENTATION = Instrumentation(
    name="dramatiq",
    module="dramatiq.broker",
    also=("dramatiq.message", "dramatiq.worker"),
    distribution="dramatiq",
    hook=_hook,
    versions=">=1.15,<3",
)
