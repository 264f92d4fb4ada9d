"""The provider and the tracers from which OpenTelemetry instrumentations get spans, on the API alone."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any

from opentelemetry import trace
from opentelemetry.context.context import Context
from opentelemetry.trace import INVALID_SPAN, Link, Span, StatusCode

from ..agent_log import RateLimitedLog
from ..record.foreign import must_reach_application
from ..record.suppression import suppress_instrumentation
from ..record.trace.context import active_span, current
from ..record.trace.model import SpanKind
from ..record.trace.tracer import running
from .duplicates import entry_around, is_same_message, is_same_request, outer_call, withdraw_twin
from .libraries import Library
from .locations import reference_of
from .proxies import Absorbed
from .runtime_context import SPAN_KEY, Arrival, SharedContext, enclosing, entry_of
from .span import BridgedSpan

_ENTRY, _EXIT, _LOCAL = SpanKind.ENTRY, SpanKind.EXIT, SpanKind.LOCAL
_KINDS = {
    trace.SpanKind.INTERNAL: _LOCAL,
    trace.SpanKind.SERVER: _ENTRY,
    trace.SpanKind.CLIENT: _EXIT,
    trace.SpanKind.PRODUCER: _EXIT,
    trace.SpanKind.CONSUMER: _ENTRY,
}
_NANOSECONDS = 1e9
_limited = RateLimitedLog()


class BridgeProvider(trace.TracerProvider):
    """Gives tracers whose spans are swagent's.

    :ivar is_open: False once it is uninstalled: tracers stay in the modules that asked for them
    """

    def __init__(self, context: SharedContext) -> None:
        self.context = context
        self.is_open = True

    def get_tracer(
        self,
        instrumenting_module_name: str,
        instrumenting_library_version: str | None = None,
        schema_url: str | None = None,
        attributes: Any = None,
    ) -> BridgeTracer:
        """A tracer for an instrumentation."""
        return BridgeTracer(self, Library(str(instrumenting_module_name)))


class BridgeTracer(trace.Tracer):
    """Begins the spans of one instrumentation."""

    def __init__(self, provider: BridgeProvider, library: Library) -> None:
        self._provider = provider
        self._context = provider.context
        self._library = library

    def start_span(
        self,
        name: str,
        context: Context | None = None,
        kind: trace.SpanKind = trace.SpanKind.INTERNAL,
        attributes: Any = None,
        links: Sequence[Link] | None = None,
        start_time: int | None = None,
        record_exception: bool = True,
        set_status_on_exception: bool = True,
    ) -> Span:
        """Begin a span, and do not make it the current one. Never raises."""
        try:
            at = None if start_time is None else int(start_time) / _NANOSECONDS
            return self._start(name, context, kind, attributes, links or (), at)
        except BaseException as error:  # noqa: BLE001, RUF100  (ours; it costs the span, and not the call)
            if must_reach_application(error):
                raise
            _limited.warn("start", "%s could not begin a span: %r", self._library.scope, error)
            return INVALID_SPAN

    def start_as_current_span(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """A span that is the current one in a `with` block, or in a function that this decorates."""
        return CurrentSpan(self, self._context, (name, *args), kwargs)

    def _start(
        self,
        name: str,
        context: Context | None,
        given: trace.SpanKind,
        attributes: Mapping[str, Any] | None,
        links: Sequence[Any],
        at: float | None,
    ) -> Span:
        kind = _KINDS.get(given, _LOCAL)
        tracer = running()
        if tracer is None or not self._provider.is_open or suppress_instrumentation.get():
            return INVALID_SPAN
        library, former_entry = self._library, current.get()
        parent = former_entry if context is None else self._parent_in(context, former_entry)
        if library.is_left_out or (library.is_web and library.is_noise(name)):
            return _absorbed(active_span(parent) or enclosing(former_entry))
        if kind is _EXIT:
            outer = outer_call(parent)
            if outer is not None:
                return Absorbed(outer)
            withdraw_twin(library, name, parent)
        elif kind is _ENTRY or library.is_web:
            around = enclosing(former_entry)
            entry = entry_around(around)
            if entry is not None:
                if is_same_request(library, kind, attributes) or is_same_message(entry, _carrier_of(parent)):
                    return Absorbed(around)
                if given is trace.SpanKind.SERVER:
                    kind, parent = _LOCAL, around
        span = BridgedSpan(library, name, kind, attributes, tracer)
        return _begin(span, parent, links, at)

    def _parent_in(self, context: Context, former_entry: Any) -> Any:
        """The parent of a span that begins in a given context. If that context is the current one, the entry of
        swagent's variable is used: it also shows spans that have ended.
        """
        if context is self._context.get_current():
            return former_entry
        return entry_of(context.get(SPAN_KEY))


class CurrentSpan:
    """The result of `start_as_current_span`: a context manager, and a decorator."""

    def __init__(
        self, tracer: BridgeTracer, context: SharedContext, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self._tracer = tracer
        self._context = context
        self._args = args
        self._kwargs = kwargs
        self._ends = kwargs.get("end_on_exit", args[8] if len(args) > 8 else True)
        self._span: Any = None
        self._token: Any = None

    def __enter__(self) -> Any:
        arguments = self._kwargs
        if "end_on_exit" in arguments:
            arguments = {key: value for key, value in arguments.items() if key != "end_on_exit"}
        span = self._span = self._tracer.start_span(*self._args[:8], **arguments)
        if type(span) is BridgedSpan:
            self._token = self._context.attach_span(span)
        elif span is not INVALID_SPAN:
            self._token = self._context.attach(trace.set_span_in_context(span))
        return span

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        span, token = self._span, self._token
        self._span = self._token = None
        if token is not None:
            self._context.detach(token)
        if error is not None:
            self._note(span, error)
        if self._ends:
            span.end()

    def _note(self, span: Any, error: BaseException) -> None:
        with suppress(Exception):
            if not isinstance(error, Exception):
                return  # a cancellation; the span sees it when it ends
            if self._option("record_exception", 6):
                span.record_exception(error)
            if self._option("set_status_on_exception", 7):
                span.set_status(StatusCode.ERROR, f"{type(error).__name__}: {error}")

    def _option(self, name: str, position: int) -> bool:
        given = self._args[position] if len(self._args) > position else self._kwargs.get(name, True)
        return bool(given)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Run each call of a function in a span of its own."""

        def again() -> CurrentSpan:
            return CurrentSpan(self._tracer, self._context, self._args, self._kwargs)

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def in_span(*args: Any, **kwargs: Any) -> Any:
                with again():
                    return await function(*args, **kwargs)

            return in_span

        @functools.wraps(function)
        def within_span(*args: Any, **kwargs: Any) -> Any:
            with again():
                return function(*args, **kwargs)

        return within_span


def _begin(span: BridgedSpan, parent: Any, links: Sequence[Any], at: float | None) -> BridgedSpan:
    if links and (parent is None or span.kind is _ENTRY):
        parent = _first_link(links) or parent
    if type(parent) is Arrival and parent.carrier is not None:
        span.carrier, span.correlation = parent.carrier, parent.correlation
        parent = None
    span.start_below(parent, at)
    for link in links:
        span.add_link(link.context)
    return span


def _absorbed(around: Any) -> Span:
    return Absorbed(around) if around is not None else INVALID_SPAN


def _carrier_of(parent: Any) -> Any:
    return parent.carrier if type(parent) is Arrival else None


def _first_link(links: Sequence[Any]) -> Arrival | None:
    """The first link to a native span, as of the first message of a batch. A span without a parent continues it. So
    does the span of a message in any case, since its parent is the span of the code that asked for messages.
    """
    for link in links:
        if reference_of(link.context) is not None:
            return Arrival(None, trace.NonRecordingSpan(link.context))
    return None
