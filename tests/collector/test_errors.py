"""Errors in groups: by the exception and the application's own frame, or by status and operation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from collector.made_traces import store_of
from collector.served import START, listed
from swagent.collector.api import failure_index
from swagent.collector.api.errors import error_group, errors
from swagent.collector.api.failure_index import FailureIndex
from swagent.collector.api.failures import Group, exception, failures
from swagent.collector.api.stacks import frames, own_frame
from swagent.collector.api.trace_failures import trace_failure
from swagent.collector.store.records import LogLine
from swagent.collector.store.store import Store
from swagent.collector.store.trace_records import Reference, Segment, Span, SpanLog

PLACES = """File "/usr/lib/python3.12/asyncio/runners.py", line 12, in run
File "/srv/shop/app.py", line 41, in order
File "/srv/shop/stock.py", line 7, in reserve
File "/srv/.venv/lib/python3.12/site-packages/asyncpg/pool.py", line 118, in fetchrow"""
TRACEBACK = """Traceback (most recent call last):
  File "/srv/shop/first.py", line 3, in first
    raise KeyError("lamp")
KeyError: 'lamp'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/srv/shop/app.py", line 41, in order
    return pay()
           ^^^^^
  File "/srv/shop/pay.py", line 9, in pay
    raise PaymentFailed(
shop.errors.PaymentFailed: the card: was refused
by the bank
"""
JAVA = """com.shop.OutOfStock: no lamp
\tat java.base/java.util.Optional.orElseThrow(Optional.java:403)
\tat com.shop.Stock.reserve(Stock.java:41)
\tat org.springframework.web.Servlet.service(Servlet.java:9)
Caused by: java.lang.IllegalStateException: x
\tat com.shop.Deep.inside(Deep.java:2)"""
NODE = """Error: boom
    at node:internal/process/task_queues:95:5
    at Object.get (/srv/app/node_modules/pg/index.js:3:9)
    at async handle (/srv/app/server.js:12:3)"""


def raised(kind: str = "shop.PaymentFailed", message: str = "refused", stack: str = PLACES) -> SpanLog:
    return SpanLog(START, (("event", "error"), ("error.kind", kind), ("message", message), ("stack", stack)))


def failed(number: int, *logs: SpanLog, **changes: Any) -> Segment:
    """A segment of `shop` whose only span has failed, a second after the one with the number before."""
    fields: dict[str, Any] = {"service": "shop", "operation": "/pay", "tags": ()} | changes
    start = START + number * 1000
    span = Span(
        *(0, -1, start, start + 5, fields["operation"]), kind="Entry", is_error=True, logs=logs, tags=fields["tags"]
    )
    return Segment(f"trace-{number}", f"s-{number}", fields["service"], "i", (span,))


def ask(store: Store, order: str = "last", **filters: Any) -> Any:
    return errors(store, FailureIndex(store), filters, order)


@pytest.mark.parametrize(
    ("stack", "expected"),
    [
        (PLACES, ("/srv/shop/stock.py", 7, "reserve")),
        (TRACEBACK, ("/srv/shop/pay.py", 9, "pay")),
        (JAVA, ("Stock.java", 41, "com.shop.Stock.reserve")),
        (NODE, ("/srv/app/server.js", 12, "handle")),
        ('File "/x/site-packages/a.py", line 1, in a', ("/x/site-packages/a.py", 1, "a")),
        ('File "<frozen importlib>", line 1, in a\nFile "C:\\app\\lib\\python3\\b.py", line 2, in b', None),
        ("no frame at all", None),
        (
            'File "/swagent/docs/shop.py", line 3, in sell\nFile "/swagent/swagent/record/threads.py", line 7, in run',
            ("/swagent/docs/shop.py", 3, "sell"),
        ),
    ],
)
def test_the_frame_that_counts_is_the_innermost_of_the_applications_own(stack: str, expected: Any) -> None:
    frame = own_frame(stack)
    if expected is None:
        assert frame is None or frame.is_library
    else:
        assert frame == expected


def test_text_that_is_no_stack_does_not_take_long() -> None:
    """Each pattern looks at a character a bounded number of times; else this would take hours."""
    for text in ("\n" * 200_000, " " * 200_000, "at (" * 50_000, "\n at (" * 40_000, 'File "' * 40_000):
        assert list(frames(text)) == []


def test_a_traceback_alone_says_kind_and_message() -> None:
    span = Span(0, -1, 1, 2, "x", is_error=True, logs=(SpanLog(1, (("Traceback", TRACEBACK),)),))
    assert exception(span)[:2] == ("shop.errors.PaymentFailed", "the card: was refused")


def test_exceptions_are_grouped_by_kind_and_own_frame() -> None:
    store = Store()
    elsewhere = PLACES.replace("reserve", "release")
    for number, log in enumerate(
        (raised(message="card 1"), raised(message="card 2"), raised(stack=elsewhere), raised("KeyError"))
    ):
        store.add(failed(number, log))
    # another line of the same function: code moves while one works on it
    store.add(failed(9, raised(message="newest", stack=PLACES.replace("line 7", "line 9")), operation="/other"))
    found = ask(store)
    assert (found["total"], found["failures"], found["left_out"]) == (3, 5, 0)
    first = found["groups"][0]
    assert first == {
        **first, "kind": "shop.PaymentFailed", "file": "/srv/shop/stock.py", "function": "reserve", "line": 9,
        "count": 3, "message": "newest", "first": START, "last": START + 9000, "services": ["shop"],
    }  # fmt: skip
    assert [(each["name"], each["count"]) for each in first["endpoints"]] == [("/pay", 2), ("/other", 1)]
    assert sum(first["trend"]) == 3
    assert [each["function"] for each in found["groups"]] == ["reserve", "reserve", "release"]


def test_without_an_exception_status_and_operation_make_the_group() -> None:
    segments = [failed(number, tags=(("http.status_code", each),)) for number, each in enumerate(("500", "500", "503"))]
    found = ask(store_of([*segments, failed(3, operation="/other")]), "count")
    assert [(each["kind"], each["status"], each["operation"], each["count"]) for each in found["groups"]] == [
        ("", "500", "/pay", 2),
        ("", "", "/other", 1),
        ("", "503", "/pay", 1),
    ]


def test_an_exception_that_passes_several_spans_counts_once() -> None:
    log = raised()
    chain = [Span(0, -1, START, START + 9, "/pay", kind="Entry", is_error=True)]
    chain += [Span(number, number - 1, START, START + 5, "inside", is_error=True, logs=(log,)) for number in (1, 2, 3)]
    segment = Segment("t", "s", "shop", "i", tuple(chain))
    (found,) = failures(1, segment).failures
    assert (found.name, found.endpoint, found.operation) == ("s:3", "/pay", "inside")
    # another exception, raised because of the first, is shown as well
    outer = Span(0, -1, START, START + 9, "/pay", is_error=True, logs=(raised("shop.Refused"),))
    both = failures(1, Segment("t", "s", "shop", "i", (outer, *chain[1:]))).failures
    assert [each.group.kind for each in both] == ["shop.Refused", "shop.PaymentFailed"]


@pytest.mark.parametrize(
    ("filters", "kinds"),
    [
        ({"service": "stock"}, ["B"]),
        ({"service": "nobody"}, []),
        ({"q": "cArD"}, ["A"]),
        ({"q": "stock.py"}, ["B", "A"]),
        ({"from": START + 1000}, ["B"]),
        ({"to": START + 999}, ["A"]),
        ({"endpoint": "/b"}, ["B"]),
    ],
)
def test_groups_are_found(filters: dict[str, Any], kinds: list[str]) -> None:
    store = store_of(
        [failed(0, raised("A", "a card")), failed(1, raised("B", "a bill"), service="stock", operation="/b")]
    )
    found = ask(store, **filters)
    assert [each["kind"] for each in found["groups"]] == kinds


def test_one_group_with_its_newest_failures_its_stack_and_its_logs() -> None:
    store = Store()
    for number in range(30):
        store.add(
            failed(number, raised(message=f"card {number}", stack=f'{PLACES}\nFile "x{number}.py", line 1, in f'))
        )
        store.add(failed(100 + number, raised("Other")))
    store.add(LogLine(START, "shop", "i", "/pay", "text", "it failed", (), "", "trace-29", "s-29", 0))
    index = FailureIndex(store)
    listed = errors(store, index, {"q": "x29.py"}, "last")
    wanted = listed["groups"][0]["id"]
    group = error_group(store, index, wanted, {})
    assert group is not None
    assert (group["count"], group["message"]) == (1, "card 29")
    assert group["stack"].endswith('"x29.py", line 1, in f')
    assert group["examples"] == [
        {
            "trace_id": "trace-29", "span": "s-29:0", "service": "shop", "endpoint": "/pay", "operation": "/pay",
            "time": START + 29_000, "duration": 5, "message": "card 29", "logs": 1,
        }
    ]  # fmt: skip
    other = error_group(store, index, Group("Other", "/srv/shop/stock.py", "reserve").id, {})
    assert other is not None
    assert [each["trace_id"] for each in other["examples"]] == [f"trace-{number}" for number in range(129, 109, -1)]
    empty = error_group(store, index, wanted, {"to": START})
    assert empty is not None
    assert (empty["count"], empty["examples"]) == (0, [])
    assert error_group(store, index, "nothing", {}) is None


def test_each_segment_is_read_once_and_what_falls_out_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    store, read = Store(10), list[int]()
    segment = store.segment

    def counted(number: int) -> Any:
        read.append(number)
        return segment(number)

    monkeypatch.setattr(store, "segment", counted)
    index = FailureIndex(store)
    for number in range(25):
        store.add(failed(number, raised()))
        found = errors(store, index, {}, "last")
        assert found["failures"] == min(number + 1, 10)
    assert read == list(range(1, 26))
    assert found["groups"][0]["first"] == START + 15_000


def test_of_too_many_failures_the_newest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failure_index, "MOST", 5)
    found = ask(store_of([failed(number, raised(f"E{number}")) for number in range(12)]))
    assert (found["failures"], found["forgotten"]) == (5, 7)
    assert [each["kind"] for each in found["groups"]] == ["E11", "E10", "E9", "E8", "E7"]


def _order(*logs: SpanLog, is_error: bool = True) -> Segment:
    """A request of `front` that asks `shop`, and fails when that does."""
    asking = Span(0, -1, START, START + 9, "/order", kind="Entry", is_error=is_error, logs=logs)
    call = Span(1, 0, START, START + 8, "/pay", "pay:80", "Exit", is_error=True)
    return Segment("trace-0", "a", "front", "i", (asking, call))


def _answer(layer: str = "Http") -> Segment:
    reference = Reference("CrossProcess", "trace-0", "a", 1, "front", "i", "/order", "pay:80")
    answer = failed(0, raised())
    return replace(answer, spans=(replace(answer.spans[0], references=(reference,), layer=layer),))


def test_a_callers_own_exception_that_came_through_counts_at_its_origin() -> None:
    store = Store()
    store.add(_order(raised("httpx.HTTPStatusError", "502")))
    assert [each["kind"] for each in ask(store)["groups"]] == ["httpx.HTTPStatusError", ""]  # one side is known
    store.add(_answer())
    found = ask(store)
    assert [(each["kind"], each["count"], each["services"]) for each in found["groups"]] == [
        ("shop.PaymentFailed", 1, ["shop"])
    ]
    assert (found["failures"], found["through"]) == (1, 1)
    front = ask(store, service="front")
    assert (front["failures"], front["through"]) == (0, 1)


def _beside(end: int) -> list[Segment]:
    """A request, and a call that failed, which ended so many milliseconds after the request began."""
    root = Span(0, -1, START, START + 9, "/order", kind="Entry")
    return [Segment("t", "s", "shop", "i", (root, Span(1, 0, START, START + end, "cache", kind="Exit", is_error=True)))]


@pytest.mark.parametrize(
    ("segments", "is_handled"),
    [
        pytest.param([_order(is_error=False), _answer()], True, id="a caller survived it"),
        pytest.param(
            [_order(is_error=False), _answer("MQ")], False, id="a producer survives whatever its consumer does"
        ),
        pytest.param([_answer()], False, id="its caller is not known"),
        pytest.param(_beside(8), True, id="a call within the request"),
        pytest.param(_beside(50), False, id="work after the request"),
    ],
)
def test_a_failure_that_was_survived_is_handled(segments: list[Segment], is_handled: bool) -> None:
    found = trace_failure(segments)
    assert found is not None
    assert found["is_handled"] is is_handled


def test_the_list_of_traces_names_the_failure() -> None:
    assert trace_failure([]) is None
    (row,) = listed(store_of([_order(), _answer()]))["traces"]
    assert row["errors"] == 3
    assert row["failure"] == {
        "count": 1, "kind": "shop.PaymentFailed", "status": "", "service": "shop", "is_handled": False,
    }  # fmt: skip
