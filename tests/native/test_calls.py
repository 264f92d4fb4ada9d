"""The spans that C begins and ends, beside what Python does with the same segment at the same time."""

from __future__ import annotations

import threading
from contextvars import copy_context
from typing import Any
from uuid import uuid4

import pytest

from native.draws import ROUTES
from native.one_request import BODY, DATABASE, START, SW8_OF_ANOTHER, Served, calling, scope_of
from swagent import acceleration, entry_span, put_correlation
from swagent.instrument.call import begin_call
from swagent.instrument.libraries.sql.sql_call import begin_query
from swagent.instrument.settings import Settings, current, use
from swagent.record.trace.headers import share_headers
from swagent.record.trace.model import Component, Layer

pytestmark = pytest.mark.native
NAME, PEER = "PostgreSQL/bind", "db:5432"


class Unnamed:
    """A route that raises when it is looked at."""

    @property
    def path(self) -> str:
        raise LookupError


@pytest.fixture
def served() -> Any:
    made = Served(calling)
    made.recorder.begin()
    yield made
    made.recorder.end()


@pytest.fixture
def restore_settings() -> Any:
    before = current()
    yield
    use(before)


def begin() -> Any:
    return begin_call(NAME, PEER, Layer.DATABASE, Component.ASYNCPG, (("db.type", "PostgreSQL"),))


def begin_and_stop() -> Any:
    span = begin()
    span.stop()
    return span


def of_statement(span: Any) -> list[tuple[str, str]]:
    """The tags of a query, once it has ended."""
    span.stop()
    return [
        (key, value)
        for key, value in span.tags
        if key.startswith("db.st") or key in ("db.operation", "db.sql.parameters")
    ]


def test_a_query_shows_what_the_settings_of_now_say(served: Served, restore_settings: None) -> None:
    def ask() -> list[tuple[str, str]]:
        return of_statement(begin_query(NAME, DATABASE, "DELETE FROM carts", ("7",)))

    operation, statement, parameters = (
        ("db.operation", "DELETE"), ("db.statement", "DELETE FROM carts"), ("db.sql.parameters", "('7',)"),
    )  # fmt: skip
    with entry_span("request"):
        assert ask() == ask() == [operation]
        use(Settings(sql_statements=True))
        assert ask() == [operation, statement]
        use(Settings(sql_parameters_max_length=100))
        assert ask() == [operation, parameters]
        use(Settings())
        assert ask() == [operation]
        # nothing of one query is in the next one
        span: Any = begin_query(NAME, DATABASE, "DELETE FROM carts")
        span.tag("db.statement", "of this one").stop()
        assert ask() == [operation]


@pytest.mark.parametrize("peer", [PEER, "", "склад:80", "b" * 300])
@pytest.mark.parametrize("service", ["shop", "магазин", "s" * 300])
def test_the_headers_of_a_call_are_those_that_python_writes(service: str, peer: str) -> None:
    written: list[tuple[dict[str, str], dict[str, str]]] = []

    async def call(scope: Any, receive: Any, send: Any) -> None:
        # the operation is named by its route as soon as there is one
        for route in (None, ROUTES[1]):
            scope |= {"route": route} if route is not None else {}
            span: Any = begin()
            written.append((span.headers_for(peer), span._headers_otherwise(peer)))
            span.stop()
        put_correlation("user", "7")
        span = begin()
        written.append((span.headers_for(peer), span._headers_otherwise(peer)))
        span.stop()
        await send(START)
        await send(BODY)

    recorded = Served(call, service=service)
    recorded.recorder.begin()
    for _ in range(2):
        recorded.serve(scope_of())
    assert len(written) == 6
    assert all(ours == theirs and ours["sw8"] for ours, theirs in written), written
    assert list(written[0][0]) == ["sw8", "traceparent", "tracestate"]
    # as many spans as one byte can number, and more
    with entry_span("request"):
        spans = [begin_and_stop() for _ in range(300)]
        assert [span.headers_for(peer) for span in spans] == [span._headers_otherwise(peer) for span in spans]
    recorded.recorder.end()


def test_an_operation_that_cannot_be_named_is_one_error_also_where_python_writes_the_headers() -> None:
    async def call(scope: Any, receive: Any, send: Any) -> None:
        scope["route"] = Unnamed()
        span: Any = begin()
        before = served.app.faults.count
        assert span.headers_for(PEER)["sw8"]
        found.append(served.app.faults.count - before)
        span.stop()
        await send(START)
        await send(BODY)

    found: list[int] = []
    served = Served(call)
    served.recorder.begin()
    served.serve(scope_of())
    # the id of another agent's trace, which has no form in `traceparent`
    served.serve(scope_of(headers=[(b"sw8", SW8_OF_ANOTHER)]))
    served.recorder.end()
    assert found == [1, 1]


def test_what_the_headers_of_a_segment_share_is_what_python_writes(served: Served) -> None:
    ids = ["0123456789abcdef" * 2, "f" * 32, "0" * 32, uuid4().hex, uuid4().hex]
    with entry_span("request") as root:
        segment, span = root.segment, begin()
        assert segment is not None
        for trace_id in [*ids, "a trace of another agent", "A" * 32, "ü" * 32, "f" * 31]:
            for segment_id in ids:
                segment.trace_id, segment.id, segment._shared_headers = trace_id, segment_id, None
                assert span.headers_for(PEER) == span._headers_otherwise(PEER)
                shared, segment._shared_headers = segment._shared_headers, None
                assert shared == share_headers(trace_id, segment_id)
        span.stop()


SW8, OWN = (b"sw8", b"sw8", b"1-x"), (b"X-Own", b"x-own", b"kept")


def test_headers_are_added_to_fields_that_are_plain_and_to_no_others() -> None:
    add = acceleration.native.add_header_fields  # type: ignore[union-attr]
    written = {"sw8": "1-y", "tracestate": "sw=1"}
    fields: Any = [OWN]
    assert add(fields, written)
    assert fields == [OWN, (b"sw8", b"sw8", b"1-y"), (b"tracestate", b"tracestate", b"sw=1")]
    assert all(type(part) is bytes for field in fields for part in field)
    traceparent = (b"Traceparent", b"traceparent", b"00-x")
    for odd in ([SW8], [traceparent], [OWN[:2]], [list(OWN)], [("a", "b", "c")], [None]):
        fields = [OWN, *odd]
        assert not add(fields, written)
        assert fields == [OWN, *odd]
    for given in ({"sw9": "1"}, {"sw8": "ü"}, {"sw8": b"1"}, {7: "1"}):
        fields = [OWN]
        assert not add(fields, given)
        assert fields == [OWN]
    assert not add((OWN,), written)
    assert not add([OWN], None)


def test_headers_at_the_end_of_fields_are_taken_out() -> None:
    take = acceleration.native.take_header_fields  # type: ignore[union-attr]
    state = (b"TraceState", b"tracestate", b"sw=1")
    for before, ours in (([OWN], [SW8, state]), ([], [SW8]), ([SW8, OWN], [state]), ([SW8, OWN], []), ([None], [SW8])):
        fields: Any = [*before, *ours]
        assert take(fields) == ours
        assert fields == before
    assert take((SW8,)) is None


def test_the_logs_of_a_span_are_a_list_once_they_are_asked_for(served: Served) -> None:
    with entry_span("request"):
        span, other = begin_and_stop(), begin()
        assert span.logs is span.logs
        assert span.logs == []
        other.log(event="asked").stop()
        assert [fields for _, fields in other.logs] == [[("event", "asked")]]
        assert span.logs == []
        span.logs = [(1.0, [])]
        assert span.logs == [(1.0, [])]


def test_a_lock_is_taken_again_by_its_thread_and_by_no_other() -> None:
    lock = acceleration.native.Lock()  # type: ignore[union-attr]
    tries, order = threading.Event(), []

    def take() -> None:
        tries.set()
        with lock:
            order.append("other")

    with lock:
        with lock:
            order.append("inner")
        other = threading.Thread(target=take)
        other.start()
        assert tries.wait(10)
        order.append("outer")
    other.join(10)
    assert order == ["inner", "outer", "other"]


@pytest.mark.parametrize("is_begun", [False, True])
def test_a_call_waits_for_the_thread_that_has_the_segments_lock(served: Served, is_begun: bool) -> None:
    tracer: Any = served.recorder.agent.tracer
    tries, done = threading.Event(), threading.Event()
    with entry_span("request") as request:
        span = begin() if is_begun else None

        def act() -> None:
            tries.set()
            if span is not None:
                span.stop()
            else:
                begin_call(NAME, PEER, Layer.DATABASE, Component.ASYNCPG)
            done.set()

        with tracer.lock:
            other = threading.Thread(target=copy_context().run, args=(act,))
            other.start()
            assert tries.wait(10)
            segment: Any = request.segment
            held = len(segment._open)
            assert not done.is_set()
        other.join(10)
        assert done.is_set()
        assert held == (2 if is_begun else 1)
