"""The context in the headers of calls that OpenTelemetry instrumentations make and take: `sw8` and the W3C's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opentelemetry import trace
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.context.context import Context
from opentelemetry.propagators import textmap
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from ..agent_log import RateLimitedLog
from ..record.foreign import must_reach_application
from ..record.trace.carrier import format_correlation, format_sw8, parse_correlation, parse_sw8
from ..record.trace.context import active_span, current
from ..record.trace.span import Span
from ..record.trace.traceparent import Traceparent, parse_traceparent
from ..record.trace.tracer import Tracer, running
from .proxies import RemoteSpan
from .runtime_context import SPAN_KEY, Arrival, entry_of

_FIELDS = frozenset({"sw8", "sw8-correlation", "traceparent", "tracestate"})
_limited = RateLimitedLog()


class SkyWalkingPropagator(textmap.TextMapPropagator):
    """Writes and reads the headers of SkyWalking. `sw8` wins where several kinds come."""

    def __init__(
        self, others: Sequence[textmap.TextMapPropagator] = (), has_values: Callable[[], bool] = lambda: True
    ) -> None:
        """
        :param others: propagators that write and read headers as well, such as that of baggage
        :param has_values: says whether there can be any baggage
        """
        self._others = others
        self._has_values = has_values

    def inject(
        self, carrier: Any, context: Context | None = None, setter: textmap.Setter[Any] = textmap.default_setter
    ) -> None:
        """Write the context's span, or the active one, into a carrier."""
        try:
            for name, value in _headers_of(context).items():
                setter.set(carrier, name, value)
            for other in self._others:
                if type(other) is not W3CBaggagePropagator or context is not None or self._has_values():
                    other.inject(carrier, context, setter)
        except BaseException as error:  # noqa: BLE001, RUF100  (a carrier with a will of its own)
            # a library that records by itself calls this in a request that succeeds without the agent
            if must_reach_application(error):
                raise
            _limited.warn("inject", "the context could not be written into a carrier: %r", error)

    def extract(
        self, carrier: Any, context: Context | None = None, getter: textmap.Getter[Any] = textmap.default_getter
    ) -> Context:
        """The context with the caller's span in it, where a carrier names one."""
        context = Context() if context is None else context
        try:
            for other in self._others:
                context = other.extract(carrier, context, getter)
            tracer = running()
            if tracer is None or tracer.trust_incoming is False:
                return context
            span = _read(carrier, getter, tracer)
        except BaseException as error:  # noqa: BLE001, RUF100  (as above)
            if must_reach_application(error):
                raise
            _limited.warn("extract", "a carrier could not be read: %r", error)
            return context
        return trace.set_span_in_context(span, context) if span is not None else context

    @property
    def fields(self) -> set[str]:
        """The headers that `inject` may write."""
        return {*_FIELDS, *(field for other in self._others for field in other.fields)}


def beside(former: textmap.TextMapPropagator, has_values: Callable[[], bool]) -> SkyWalkingPropagator:
    """The agent's propagator together with the former ones: that of baggage, and those that the user chose by
    `OTEL_PROPAGATORS`. The W3C's is left out, since the agent's writes its headers.
    """
    parts: Any = getattr(former, "_propagators", (former,))
    kept = [each for each in parts if not isinstance(each, TraceContextTextMapPropagator)]
    return SkyWalkingPropagator(kept, has_values)


def _read(carrier: Any, getter: textmap.Getter[Any], tracer: Tracer) -> RemoteSpan | None:
    sw8 = _only(getter.get(carrier, "sw8"))
    parsed = parse_sw8(sw8) if sw8 is not None else None
    if parsed is not None:
        correlation = _only(getter.get(carrier, "sw8-correlation"))
        elements = parse_correlation(correlation, *tracer.correlation_limits) if correlation else None
        return RemoteSpan(parsed, elements)
    traceparent = _only(getter.get(carrier, "traceparent")) if tracer.traceparent else None
    if traceparent is None:
        return None
    state = getter.get(carrier, "tracestate")
    caller = parse_traceparent(traceparent, ",".join(state) if state else None)
    return RemoteSpan(caller) if caller is not None else None


def _only(values: Any) -> Any:
    """The header, where there is exactly one of its name."""
    if values is None or isinstance(values, (str, bytes)):
        return values
    return values[0] if len(values) == 1 else None


def _headers_of(context: Context | None) -> dict[str, str]:
    entry = current.get() if context is None else entry_of(context.get(SPAN_KEY))
    if type(entry) is Arrival:
        return _passed_on(entry)
    active = active_span(entry)
    span: Span | None = active.to_span() if active is not None else None
    return span.headers() if span is not None else {}


def _passed_on(arrival: Arrival) -> dict[str, str]:
    """A caller's headers, where no span of this process is between the caller and the service that is called."""
    carrier = arrival.carrier
    if carrier is None:
        return {}
    if isinstance(carrier, Traceparent):
        return {"traceparent": str(carrier), **({"tracestate": carrier.state} if carrier.state else {})}
    headers = {"sw8": format_sw8(carrier)}
    if arrival.correlation:
        headers["sw8-correlation"] = format_correlation(arrival.correlation)
    return headers
