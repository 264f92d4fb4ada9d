"""The tree, joined and rendered."""

from __future__ import annotations

import io
from pathlib import Path

import anyio
import pytest

from collector.served import START
from kit.client import until
from swagent.collector.api.tree import depth_first, join, walk
from swagent.collector.live import MOST, Debouncer, LivePrinter
from swagent.collector.store.store import Store
from swagent.collector.store.trace_records import Reference, Segment, Span
from swagent.collector.view import PLAIN, render
from swagent.record.trace.traceparent import format_traceparent

pytestmark = pytest.mark.anyio

TREE = """\
Trace 1.2.3
  1,242 ms · 2 services · 5 spans · 1 error
  1,242 ms    GET /checkout         Entry  shop  http.method=GET http.status_code=200
      2 ms    ├─ read cart          Local  shop
  1,230 ms    └─ /pay               Exit   shop  → pay:8080
  1,200 ms       └─ POST /pay       Entry  pay
  1,100 ms ✗        └─ SQL/execute  Exit   pay   → db:5432 a=1 b=2 c=3 d=4 +1 tags"""


def two_services() -> list[Segment]:
    shop = (
        Span(2, 0, START + 10, START + 1240, "/pay", "pay:8080", "Exit"),
        Span(1, 0, START + 1, START + 3, "read cart"),
        Span(0, -1, START, START + 1242, "GET /checkout", kind="Entry",
             tags=(("http.method", "GET"), ("http.status_code", "200"))),
    )  # fmt: skip
    back = Reference("CrossProcess", "1.2.3", "a", 2, "shop", "", "", "")
    tags = tuple((name, str(number)) for number, name in enumerate("abcde", 1))
    pay = (
        Span(0, -1, START + 20, START + 1220, "POST /pay", kind="Entry", references=(back,)),
        Span(1, 0, START + 30, START + 1130, "SQL/execute", "db:5432", "Exit", is_error=True, tags=tags),
    )
    return [Segment("1.2.3", "b", "pay", "p1", pay), Segment("1.2.3", "a", "shop", "s1", shop)]


MISSING = """\
Trace 1.2.3
  1,200 ms · 1 service · 2 spans · 1 error
  incomplete: 1 span hangs under a parent that was not received
  1,200 ms    POST /pay       Entry  pay  (missing: span 2 of shop)
  1,100 ms ✗  └─ SQL/execute  Exit   pay  → db:5432 a=1 b=2 c=3 d=4 +1 tags"""


@pytest.mark.parametrize(("segments", "expected"), [(2, TREE), (1, MISSING)])
def test_tree_across_two_services_and_a_missing_parent(segments: int, expected: str) -> None:
    assert render("1.2.3", two_services()[:segments]) == expected


def one(segment_id: str, *spans: Span, service: str = "shop") -> Segment:
    return Segment("t", segment_id, service, "i", spans)


def reference(segment_id: str, span_id: int) -> Reference:
    return Reference("CrossProcess", "t", segment_id, span_id, "", "", "", "")


def test_every_span_appears_once_whatever_its_parents() -> None:
    looped = [
        one("a", Span(0, -1, 1, 2, "a0", references=(reference("b", 0),)), Span(0, 0, 1, 2, "again")),
        one("b", Span(0, -1, 2, 3, "b0", references=(reference("a", 0),)), Span(5, 5, 2, 3, "own parent")),
        one("c", Span(3, 2, 3, 4, "c3"), Span(4, 3, 0, 1, "c4")),
    ]
    names = [node.span.operation for node, _ in walk(join(looped))]
    assert sorted(names) == ["a0", "again", "b0", "c3", "c4", "own parent"]
    assert "incomplete: 3 spans hang" in render("t", looped)


def test_a_call_that_carried_the_headers_of_the_w3c_alone_joins_two_of_our_services() -> None:
    trace, caller = "ab" * 16, "cd" * 16
    said = {"traceparent": format_traceparent(trace, caller, 3)}
    segments = [
        Segment(trace, "ef" * 16, "tools", "i", (Span(0, -1, 2, 3, "search", tags=(*said.items(),)),)),
        Segment(trace, caller, "shop", "i", (Span(0, -1, 1, 5, "ask"), Span(3, 0, 1, 4, "call"))),
    ]
    (root,) = join(segments)
    assert [(node.span.operation, depth) for node, depth in depth_first([root])] == [
        ("ask", 0), ("call", 1), ("search", 2)]  # fmt: skip


def test_deep_and_wide_traces_are_cut() -> None:
    deep = [Span(number, number - 1, number, number, f"n{number}") for number in range(5000)]
    lines = render("t", [one("a", *deep)]).splitlines()
    assert lines[-1] == "  … 4,800 more spans"
    assert max(map(len, lines)) < 150


def test_foreign_text_cannot_reach_the_terminal() -> None:
    text = render("t\n\x1b[2J", [one("a", Span(0, -1, 5, 0, "x\x1b]0;y\x07" + "z" * 99), service="s\r")])
    assert all(character.isprintable() or character == "\n" for character in text)
    assert "? ms" in text
    assert len(text.splitlines()) == 3


def test_debouncer() -> None:
    keys = Debouncer(quiet=1.0)
    assert keys.due_at() is None
    keys.touch("a", 0.0)
    keys.touch("b", 0.5)
    keys.touch("a", 0.9)
    assert keys.due_at() == 1.5
    assert keys.take(1.4) == []
    assert keys.take(1.6) == ["b"]
    assert keys.take(1.9) == ["a"]


async def test_live_printer_prints_at_rest_again_and_at_the_end() -> None:
    store, output = Store(), io.StringIO()
    printer = LivePrinter(store, output, PLAIN, quiet=0.02)
    async with anyio.create_task_group() as group:
        group.start_soon(printer.run)
        await anyio.lowlevel.checkpoint()
        for segment_id in ("a", "b"):
            store.add(one(segment_id, Span(0, -1, 1, 2, segment_id)))
        await until(lambda: "Trace t\n" in output.getvalue())
        store.add(one("c", Span(0, -1, 1, 2, "c")))
        await until(lambda: "Trace t (again, with late segments)\n" in output.getvalue())
        store.add(Segment("u", "d", "shop", "i", ()))
        group.cancel_scope.cancel()
    assert output.getvalue().count("Trace t") == 2
    assert "Trace u" not in output.getvalue()
    printer.finish()
    assert output.getvalue().endswith("Trace u\n  0 ms · 0 services · 0 spans\n\n")


async def followed(store: Store, output: io.StringIO, *segments: Segment) -> None:
    """Print what comes while segments come in."""
    printer = LivePrinter(store, output, PLAIN)
    async with anyio.create_task_group() as group:
        group.start_soon(printer.run)
        await anyio.lowlevel.checkpoint()
        for segment in segments:
            store.add(segment)
        group.cancel_scope.cancel()
    printer.finish()


async def test_a_flood_is_printed_in_part() -> None:
    output = io.StringIO()
    await followed(Store(), output, *(Segment(f"t{number}", f"s{number}", "shop", "i", ()) for number in range(1000)))
    assert output.getvalue().count("Trace t") == MOST
    assert output.getvalue().endswith("… 950 more traces came at the same time\n\n")


async def test_a_store_that_cannot_be_written_does_not_end_the_printing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store, output = Store(path=str(tmp_path / "store.db")), io.StringIO()
    store.read("PRAGMA max_page_count=1")
    await followed(store, output, one("large", Span(0, -1, 1, 2, "x" * 500_000)))
    assert "traces are not printed: cannot write to the store" in caplog.text
    store.read("PRAGMA max_page_count=100000")
    await followed(store, output, one("a", Span(0, -1, 1, 2, "a")))
    assert output.getvalue().startswith("Trace t\n")
    store.close()
