"""Traces that tests make up: requests with calls, joined across services by their references."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from collector.served import START
from swagent.collector.store.store import Store
from swagent.collector.store.trace_records import Pairs, Reference, Segment, Span, SpanLog

_NUMBERS = itertools.count()


@dataclass
class Did:
    """A span of a request, by milliseconds after its begin.

    :ivar served: the request that answered it, where one did
    """

    operation: str
    start: int
    end: int
    peer: str = ""
    layer: str = "Database"
    kind: str = "Exit"
    error: bool = False
    tags: dict[str, str] = field(default_factory=dict)
    logs: tuple[SpanLog, ...] = ()
    served: Request | None = None
    below: Sequence[Did] = ()


@dataclass
class Request:
    """A request that a service answers; its times count from when the trace began."""

    service: str
    operation: str
    start: int
    end: int
    did: Sequence[Did] = ()
    error: bool = False
    tags: dict[str, str] = field(default_factory=dict)
    logs: tuple[SpanLog, ...] = ()


def call(service: Request, peer: str = "", start: int | None = None, end: int | None = None, **more: object) -> Did:
    """A call over HTTP that a request of another service answers."""
    begin, until = service.start - 1 if start is None else start, service.end + 1 if end is None else end
    path = service.operation.partition(":")[2]
    return Did(path, begin, until, peer or f"{service.service}:80", "Http", served=service, **more)  # type: ignore[arg-type]


def made(request: Request, at: int = 0, trace: str = "") -> list[Segment]:
    """The segments of a trace that begins so many milliseconds after `START`."""
    trace = trace or f"trace-{next(_NUMBERS)}"
    return list(_segments(request, trace, START + at, None))


def _segments(request: Request, trace: str, begin: int, reference: Reference | None) -> Iterator[Segment]:
    name = f"s{next(_NUMBERS)}"
    references = (reference,) if reference else ()
    spans = [
        Span(
            0, -1, begin + request.start, begin + request.end, request.operation, "", "Entry", "Http", 7014,
            request.error, _pairs(request.tags), request.logs, references,
        )
    ]  # fmt: skip
    instance = f"{request.service}-1"
    waiting = [(0, each) for each in request.did]
    while waiting:
        parent, did = waiting.pop(0)
        number = len(spans)
        spans.append(
            Span(
                number, parent, begin + did.start, begin + did.end, did.operation, did.peer, did.kind, did.layer, 7019,
                did.error, _pairs(did.tags), did.logs,
            )
        )  # fmt: skip
        waiting += [(number, each) for each in did.below]
        if did.served is not None:
            back = Reference(
                "CrossProcess", trace, name, number, request.service, instance, request.operation, did.peer
            )
            yield from _segments(did.served, trace, begin, back)
    yield Segment(trace, name, request.service, instance, tuple(spans))


def _pairs(tags: dict[str, str]) -> Pairs:
    return tuple(tags.items())


def raised(kind: str, file: str, line: int, function: str = "handle", at: int = 0) -> tuple[SpanLog, ...]:
    """The log of an exception that a function of the application raised."""
    stack = f'File "/app/{file}", line {line}, in {function}'
    return (SpanLog(START + at, (("event", "error"), ("error.kind", kind), ("message", "no"), ("stack", stack))),)


def held(frame: str, at: int) -> tuple[SpanLog, ...]:
    """The log of a loop that was held."""
    return (SpanLog(START + at, (("event", "loop.blocked"), ("frame", frame), ("stack", "..."))),)


def ran_long(frame: str, at: int) -> tuple[SpanLog, ...]:
    """The log of a step that took long."""
    return (SpanLog(START + at, (("event", "own.code"), ("frame", frame), ("stack", "..."))),)


def store_of(*traces: list[Segment]) -> Store:
    """A store that holds traces."""
    store = Store()
    for segment in itertools.chain.from_iterable(traces):
        store.add(segment)
    return store
