"""The outline of a record says the same of it as its span does."""

from __future__ import annotations

from typing import Any

import pytest

from swagent.pipeline.outlines import Outlines
from swagent.pipeline.shedding import Outline
from swagent.record.trace.carrier import Carrier, format_sw8
from swagent.record.trace.ids import FIRST_NUMBER, trace_id_of
from swagent.record.trace.model import Component, SpanKind
from swagent.record.trace.segment import Segment
from swagent.record.trace.span import Span
from swagent.record.trace.tracer import Tracer
from swagent.request.facts import UNMATCHED
from swagent.request.finished import NO_FACTS, NO_REQUEST, FinishedRequest

CALLER = Carrier(True, "träce-1", "segment", 7, "gate", "gate-1", "GET:/", "shop:80")
OWN = trace_id_of(FIRST_NUMBER).encode()


def request(**changes: Any) -> FinishedRequest:
    known = FinishedRequest(FIRST_NUMBER, 10.0, 10.25, ("::1", 80), None, None, "GET", "http", b"shop", "/items/7",
                            "/items/{id}", Component.PYTHON, 200)  # fmt: skip
    return known._replace(**changes)


def tracer_of(**settings: Any) -> Tracer:
    return Tracer("shop", "one", lambda _: None, **settings)


def read(finished: Any, tracer: Tracer | None = None) -> Outline | None:
    return Outlines(tracer or tracer_of()).read(finished)


def span(name: str, number: int, parent: int, *, failed: bool = False) -> Span:
    made = Span(name, SpanKind.ENTRY)
    made.id, made.parent_id, made.start_time, made.end_time = number, parent, 10.0 + number, 10.5 + number
    made.failed = failed
    return made


def row_of(segment: Segment, spans: list[Span]) -> Any:
    return NO_REQUEST, 0.0, 0.0, None, (segment, spans), None, *NO_FACTS


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {}),
        *(({"status": status}, {"failed": False}) for status in (0, 404, 499)),
        *(({"status": status}, {"failed": True}) for status in (500, 503)),
        ({"caller": format_sw8(CALLER).encode()}, {"trace_id": "träce-1".encode()}),
        ({"caller": b"1-nonsense"}, {}),
        ({"template": UNMATCHED, "path": "/made/up"}, {"endpoint": "GET:_unmatched"}),
    ],
    ids=str,
)
def test_a_request(changes: dict[str, Any], expected: dict[str, Any]) -> None:
    assert read(request(**changes)) == Outline("GET:/items/{id}", OWN, 0.25, failed=False)._replace(**expected)


def test_what_is_not_recorded_has_no_outline() -> None:
    assert read(request(caller=format_sw8(CALLER._replace(sampled=False)).encode())) is None


def test_an_ignored_operation_has_no_outline() -> None:
    tracer = tracer_of()
    assert read(request(path="/favicon.ico"), tracer) is not None
    tracer.is_ignored = lambda operation: operation.endswith(".ico")
    assert read(request(path="/favicon.ico"), tracer) is None
    assert read(request(), tracer) is not None


def test_paths_that_a_client_makes_up_are_one_endpoint() -> None:
    tracer = tracer_of()
    tracer.endpoints.keep("GET:/known")
    names = [read(request(template=None, path=path), tracer) for path in ("/known", "/made/up", "/made/up/2")]
    assert [each and each.endpoint for each in names] == ["GET:/known", "GET:_overflow", "GET:_overflow"]


@pytest.mark.parametrize("failed", [False, True], ids=["well", "one span failed"])
def test_a_segment(failed: bool) -> None:
    root, child = span("GET:/items", 0, -1), span("load", 1, 0, failed=failed)
    segment = Segment(tracer_of(), root, "trace-1", "segment-1")
    assert read(row_of(segment, [child, root])) == Outline("GET:/items", b"trace-1", 0.5, failed=failed)
    # a part without its root
    part = read(row_of(segment, [child]))
    assert part is not None
    assert part.endpoint == "load"
