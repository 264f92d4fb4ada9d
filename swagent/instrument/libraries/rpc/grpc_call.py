"""The span of a gRPC call, the same for both libraries and both ends.

Its name is the method's path. At the client every status but OK is a failure, at the server those that are the server's
own fault; a cancellation and a deadline are neither, as everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote

from ....record.limits import address_of, as_text, name_of, short
from ....record.trace.model import Component, Layer, SpanKind
from ....record.trace.outcome import Outcome
from ....record.trace.span import Span
from ....record.trace.spans import entry_span
from ....record.trace.tracer import running
from ...call import begin_call
from ...settings import current
from ..http.http_call import CONTEXT_HEADERS

# The services that agents report to, this one or another: a collector records none of these calls.
_REPORTS = "/skywalking.v3."
_CODES = (
    "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
    "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
    "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
)  # fmt: skip
_SERVER_FAULTS = frozenset({"UNKNOWN", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS"})
_OUTCOMES = {"CANCELLED": Outcome.CANCELLED, "DEADLINE_EXCEEDED": Outcome.TIMED_OUT}
_NOTHING: Mapping[str, Any] = {}
_SCHEMES = ("ipv4:", "ipv6:")


def begin_grpc_call(method: str, peer: str) -> Span | None:
    """Begin the span of a call. None: nothing is recorded here, or it is a part of another call.

    :param method: `/package.Service/Method`
    :param peer: `host:port`
    """
    if is_left_out(method):
        return None
    tags = (("grpc.method", short(method)), ("grpc.url", peer))
    return begin_call(name_of(method), peer, Layer.RPC_FRAMEWORK, Component.GRPC, tags)


def serve_grpc_call(method: str, metadata: Mapping[str, Any], peer: str) -> Span:
    """The span of a call that came in; not begun yet.

    :param metadata: what came with it, its names in lower case
    """
    context = metadata if is_trusted(method, metadata) else _NOTHING
    span = entry_span(
        method,
        sw8=context.get("sw8"),
        correlation=context.get("sw8-correlation"),
        traceparent=context.get("traceparent"),
        tracestate=context.get("tracestate"),
        component=Component.GRPC,
        layer=Layer.RPC_FRAMEWORK,
    )
    span.peer = address_of(peer)
    span.tags.append(("grpc.method", short(method)))
    return span


def is_left_out(method: str) -> bool:
    """Whether this method is not recorded, at either end."""
    return method in current().grpc_ignored_methods or method.startswith(_REPORTS)


def is_trusted(method: str, metadata: Mapping[str, Any]) -> bool:
    """Whether the context of a caller is continued. What the user's own function is asked about looks like the scope of
    an ASGI request."""
    tracer = running()
    if tracer is None or isinstance(tracer.trust_incoming, bool):
        return tracer is not None and tracer.trust_incoming is True
    headers = [(name.encode("latin-1", "replace"), _as_bytes(value)) for name, value in metadata.items()]
    return tracer.trusts({"type": "grpc", "method": "POST", "path": method, "headers": headers})


def note_code(span: Span, code: object) -> None:
    """Tag a call's status, and let the span's outcome be what the status says.

    :param code: of either library, or a number; None counts as OK
    """
    name = name_of_code(code)
    span.tag("grpc.status_code", name)
    if name in _OUTCOMES:
        span.tag_outcome(_OUTCOMES[name])
    elif name in _SERVER_FAULTS or (name != "OK" and span.kind is SpanKind.EXIT):
        span.error()


def name_of_code(code: object) -> str:
    """A status by its name, such as NOT_FOUND."""
    if code is None:
        return _CODES[0]
    if isinstance(code, int) and not hasattr(code, "name"):
        return _CODES[code] if 0 <= code < len(_CODES) else "UNKNOWN"
    return as_text(getattr(code, "name", code))


def with_context(pairs: Iterable[tuple[str, Any]] | None, span: Span) -> list[tuple[str, Any]]:
    """Metadata with a span's context in it, where its peer may get it."""
    kept = [(name, value) for name, value in pairs or () if name.lower() not in CONTEXT_HEADERS]
    return [*kept, *span.headers().items()]


def peer_of(address: str) -> str:
    """A target or a peer as gRPC writes it, as `host:port`: `dns:///stock:50051`, `ipv6:%5B::1%5D:50051`."""
    if "://" in address:
        return address_of(address.rpartition("/")[2] or address)
    for scheme in _SCHEMES:
        address = address.removeprefix(scheme)
    return address_of(unquote(address))


def _as_bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else as_text(value).encode("latin-1", "replace")
