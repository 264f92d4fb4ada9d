"""The figures of a trace's view: critical path, folds, split of time, tasks, blocked loops, zoom, search, stacks."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest

from page.made_up import Record

Ask = Callable[..., Any]
Shape = tuple[str, str | None, int, int]


def span(name: str, parent: str | None, start: int, end: int, **more: Any) -> Record:
    depth = 0 if parent is None else 1
    return {
        "id": name, "parent": parent, "start": start, "end": end, "operation": name, "service": "shop",
        "instance": "shop-1", "kind": "local", "layer": "Unknown", "component": "", "peer": "", "depth": depth,
        "error": False, "tags": [], "logs": [], "shift": 0, **more,
    }  # fmt: skip


ENTRY = {"kind": "entry", "layer": "Http"}
EXIT = {"kind": "exit", "layer": "Http"}
SQL = {"kind": "exit", "layer": "Database", "component": "asyncpg"}
PIECES = "found.map(({ span, start, end }) => [span.id, start, end])"


def path(ask: Ask, *spans: Record) -> list[list[Any]]:
    found: list[list[Any]] = ask("trace/critical_path", "criticalPath", list(spans), spans[0], then=PIECES)
    return found


def test_the_path_goes_by_what_ended_last(ask: Ask) -> None:
    root = span("root", None, 0, 100, **ENTRY)
    short, long = span("short", "root", 10, 40), span("long", "root", 10, 70)
    later = span("later", "root", 75, 90)
    assert path(ask, root, short, long, later) == [
        ["root", 0, 10], ["long", 10, 70], ["root", 70, 75], ["later", 75, 90], ["root", 90, 100],
    ]  # fmt: skip


def test_work_after_the_request_is_not_in_the_path(ask: Ask) -> None:
    root = span("root", None, 0, 100, **ENTRY)
    assert path(ask, root, span("background", "root", 20, 180)) == [["root", 0, 100]]


def test_messages_are_not_waited_for(ask: Ask) -> None:
    root = span("root", None, 0, 100, **ENTRY)
    send = span("send", "root", 10, 60, kind="exit", layer="MQ")
    consumer = span("consumer", "send", 12, 50, kind="entry", layer="MQ")
    assert path(ask, root, send, consumer) == [["root", 0, 10], ["send", 10, 60], ["root", 60, 100]]


def test_an_answer_that_came_before_the_called_one_ended_counts_until_then(ask: Ask) -> None:
    root = span("root", None, 0, 100, **ENTRY)
    call = span("call", "root", 10, 60, **EXIT)
    called = span("called", "call", 12, 300, **ENTRY)
    below = span("below", "called", 20, 50, **SQL)
    cleaning = span("cleaning", "called", 70, 290)
    assert path(ask, root, call, called, below, cleaning) == [
        ["root", 0, 10], ["call", 10, 12], ["called", 12, 20], ["below", 20, 50], ["called", 50, 60],
        ["root", 60, 100],
    ]  # fmt: skip


def test_a_child_that_outlives_its_parent_is_waited_for_further_up(ask: Ask) -> None:
    root = span("root", None, 0, 100, **ENTRY)
    parent, task = span("parent", "root", 10, 30), span("task", "parent", 20, 90)
    assert path(ask, root, parent, task) == [
        ["root", 0, 10], ["parent", 10, 20], ["task", 20, 90], ["root", 90, 100],
    ]  # fmt: skip


def test_a_millisecond_of_rounding_breaks_no_chain(ask: Ask) -> None:
    root = span("root", None, 0, 20, **ENTRY)
    assert path(ask, root, span("one", "root", 0, 11), span("two", "root", 10, 21)) == [["one", 0, 10], ["two", 10, 20]]


def test_a_path_may_be_very_deep(ask: Ask) -> None:
    spans = [span("0", None, 0, 20_000)]
    spans += [span(str(number), str(number - 1), number, 20_000 - number) for number in range(1, 9000)]
    pieces = path(ask, *spans)
    assert len(pieces) == 2 * 9000 - 1
    assert sum(end - start for _, start, end in pieces) == 20_000


def test_the_shares_of_a_path_sum_to_one(ask: Ask) -> None:
    root = span("root", None, 0, 100, **ENTRY)
    queries = [span(f"q{number}", "root", 10 + number * 30, 40 + number * 30, operation="query") for number in range(2)]
    shares = ask(
        "trace/critical_path", "criticalPath", [root, *queries], root,
        then="all.pathShares(found).map(({ span, ms, share, count }) => [span.operation, ms, share, count])",
    )  # fmt: skip
    assert shares == [["query", 60, 0.6, 2], ["root", 40, 0.4, 1]]


def test_the_head_is_the_request_that_the_answer_describes(ask: Ask) -> None:
    late, root = span("orphan", None, 0, 500), span("root", None, 10, 110)
    trace = {"start": 10, "duration": 100, "spans": [late, root]}
    assert ask("trace/critical_path", "headOf", trace, then="found.id") == "root"


def rows(ask: Ask, spans: list[Record], unfolded: bool = False, **state: str) -> list[list[Any]]:
    """The rows of a tree; `state`: ids of what is closed, and of what is seen only."""
    sets = {name: state.get(name, "").split() for name in ("closed", "only")}
    then = """(async ([unfold, { closed, only }]) => {
        const { foldSiblings } = await load('trace/folds');
        const folds = [...found.values()].flatMap(foldSiblings).filter(each => each.spans).map(each => each.id);
        return all
          .rowsOf(found, {
            closed: new Set(closed),
            unfolded: new Set(unfold ? folds : []),
            only: only.length ? new Set(only) : null,
          })
          .map(({ id, depth, fold }) => [fold ? `${fold.operation} x${fold.spans.length}` : id, depth]);
      })(PLACE)""".replace("PLACE", json.dumps([unfolded, sets]))
    found: list[list[Any]] = ask("trace/span_tree", "childrenOf", spans, then=then)
    return found


def many(count: int, **more: Any) -> list[Record]:
    """So many queries, one after the other; between them is something else."""
    root = span("root", None, 0, 1000, **ENTRY)
    calls = [
        span(f"q{number}", "root", number * 20, number * 20 + 9, **{**SQL, "operation": "query", "peer": "db", **more})
        for number in range(count)
    ]
    return [root, *calls[:2], span("other", "root", 25, 29), *calls[2:], span("below", calls[-1]["id"], 990, 991)]


def test_calls_that_repeat_are_one_row(ask: Ask) -> None:
    assert rows(ask, many(12)) == [["root", 0], ["query x12", 1], ["other", 1]]
    assert [each for each, _ in rows(ask, many(9))] == [
        "root", "q0", "q1", "other", *(f"q{number}" for number in range(2, 9)), "below",
    ]  # fmt: skip


def test_a_fold_opens_to_what_is_in_it_and_below(ask: Ask) -> None:
    seen = rows(ask, many(10), unfolded=True)
    assert seen == [
        ["root", 0], ["query x10", 1], *([f"q{number}", 2] for number in range(10)), ["below", 3], ["other", 1],
    ]  # fmt: skip


def test_a_span_that_is_closed_or_not_asked_for_is_not_seen(ask: Ask) -> None:
    assert rows(ask, many(12), closed="root") == [["root", 0]]
    assert rows(ask, many(12), only="root q3 other") == [["root", 0], ["other", 1], ["q3", 1]]


@pytest.mark.parametrize(
    ("more", "is_suspect"),
    [({}, True), ({"layer": "Cache"}, True), ({"layer": "MQ"}, False), ({"kind": "local"}, False),
     ({"start": 0, "end": 900}, False)],
)  # fmt: skip
def test_one_query_for_each_row_is_suspected(ask: Ask, more: Record, is_suspect: bool) -> None:
    """Where they ask another service, and one after the other: what runs side by side is a choice."""
    spans = [each | more for each in many(12) if each["operation"] == "query"]
    assert ask("trace/folds", "foldSiblings", spans, then="found.map(each => each.isSuspect)") == [is_suspect]


def test_a_fold_says_its_time_and_its_failures(ask: Ask) -> None:
    spans = [each | {"error": each["id"] == "q3"} for each in many(12) if each["operation"] == "query"]
    then = "found.map(({ took, start, end, errors }) => [took, start, end, errors])"
    assert ask("trace/folds", "foldSiblings", spans, then=then) == [[108, 0, 229, 1]]


def test_the_closed_parent_that_hides_a_span_is_known(ask: Ask) -> None:
    spans = many(12)
    hidden = ask(
        "trace/span_tree", "childrenOf", spans,
        then="(spans => all.hiding(spans, found, spans.at(-1)))([...found.values()].flat())",
    )  # fmt: skip
    assert hidden["above"] == ["q11", "root"]
    assert len(hidden["folds"]) == 1


def test_failed_spans_come_with_those_above_them(ask: Ask) -> None:
    spans = [span("root", None, 0, 9), span("a", "root", 0, 9), span("b", "a", 1, 2, error=True), span("c", "a", 3, 4)]
    assert ask("trace/span_tree", "errorsOnly", spans, then="[...found].sort()") == ["a", "b", "root"]


def test_deep_trees_get_narrow_steps(ask: Ask) -> None:
    at = [ask("trace/span_tree", "indent", depth, 40) for depth in range(41)]
    assert all(one < other for one, other in itertools.pairwise(at))
    assert at[40] < 200
    assert ask("trace/span_tree", "indent", 5, 6) == 70
    assert ask("trace/span_tree", "indent", 9000, 9000) <= 260


def request(**tags: str) -> Record:
    return span("root", None, 0, 1000, **ENTRY) | {
        "tags": [[key.replace("_", "."), value] for key, value in tags.items()]
    }


def split(ask: Ask, *spans: Record) -> tuple[bool, list[list[Any]]]:
    then = "[found.measured, found.parts.map(({ kind, what, ms }) => [kind, what, ms])]"
    measured, parts = ask("trace/time_split", "splitOf", spans[0], list(spans), then=then)
    return measured, parts


TIMES = {"time_running": "100", "time_ready": "200", "time_awaiting": "700", "time_gc": "30"}


def test_the_split_is_what_the_agent_measured(ask: Ask) -> None:
    awaited = json.dumps([["PostgreSQL/query db:5432", 500], ["asyncio.Lock", 150]])
    assert split(ask, request(**TIMES, time_awaited=awaited)) == (True, [
        ["running", "", 70], ["gc", "", 30], ["ready", "", 200], ["awaiting", "PostgreSQL/query db:5432", 500],
        ["awaiting", "asyncio.Lock", 150], ["awaiting", "", 50],
    ])  # fmt: skip


def test_a_wait_of_several_tasks_at_once_is_shared(ask: Ask) -> None:
    awaited = json.dumps([["a", 700], ["b", 700]])
    _, parts = split(ask, request(**TIMES, time_awaited=awaited))
    assert parts[-2:] == [["awaiting", "a", 350], ["awaiting", "b", 350]]


@pytest.mark.parametrize("awaited", ["", "[[1", '{"a": 1}', '[["a"]]', '[["a", "much"]]'])
def test_without_names_the_spans_say_what_was_awaited(ask: Ask, awaited: str) -> None:
    query = span("query", "root", 100, 400, **SQL)
    _, parts = split(ask, request(**TIMES, time_awaited=awaited), query)
    assert parts[-2:] == [["awaiting", "databases", 300], ["awaiting", "", 400]]


def test_without_a_measure_the_split_is_what_the_spans_say(ask: Ask) -> None:
    work = span("work", "root", 0, 600)
    query, call = span("query", "work", 100, 400, **SQL), span("call", "root", 350, 500, **EXIT)
    called = span("called", "call", 351, 499, **ENTRY, service="stock", instance="stock-1")
    theirs = span("theirs", "called", 360, 490, **SQL, service="stock", instance="stock-1")
    measured, parts = split(ask, request(), work, query, call, called, theirs)
    assert not measured
    assert parts == [["own", "", 600], ["awaiting", "databases", 250], ["awaiting", "calls over HTTP", 150]]


def test_a_sentence_says_where_most_of_it_went(ask: Ask) -> None:
    def sentence(*parts: tuple[str, str, int]) -> str:
        listed = [{"kind": kind, "what": what, "ms": ms} for kind, what, ms in parts]
        total = sum(ms for *_, ms in parts)
        found: str = ask("trace/split_words", "sentenceOf", {"measured": True, "total": total, "parts": listed})
        return found

    assert sentence(("running", "", 10), ("ready", "", 90)) == (
        "For 90 ms of 100 ms it was ready, and others had the event loop."
    )
    assert sentence(("running", "", 10), ("awaiting", "db", 90)) == "It awaited db for 90 ms of 100 ms."
    assert sentence(("running", "", 100)).startswith("It ran for 100 ms of 100 ms")
    assert sentence() == "It took less than a millisecond."


def test_tasks_are_in_the_order_of_their_tree(ask: Ask) -> None:
    listed = [
        {"id": 1, "parent": 0, "name": "fetch", "group": "TaskGroup", "begin": 12, "end": 80, "outcome": "failed",
         "cause": "ValueError"},
        {"id": 2, "parent": 0, "name": "store", "begin": 13, "end": 80, "outcome": "cancelled",
         "cause": "task 1 failed: ValueError"},
        {"id": 3, "parent": 1, "name": "retry", "begin": 20, "end": 70, "outcome": "done"},
        {"id": 4, "parent": 9, "name": "of one that was left out", "begin": 90},
    ]  # fmt: skip
    then = "found.map(({ id, depth, end, outcome, cause }) => [id, depth, end, outcome, cause])"
    assert ask("trace/task_tree", "tasksOf", request(tasks=json.dumps(listed)), then=then) == [
        [1, 0, 80, "failed", "ValueError"], [3, 1, 70, "done", ""],
        [2, 0, 80, "cancelled", "“fetch” failed: ValueError"], [4, 0, None, "outlived", ""],
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "[{", "null", "7", '[{"id": "x"}, null, {"id": 0, "begin": 1}]'])
def test_a_tag_that_is_no_list_of_tasks_is_none(ask: Ask, text: str) -> None:
    assert ask("trace/task_tree", "tasksOf", request(tasks=text)) == []


def test_tasks_that_name_each_other_as_parents_end(ask: Ask) -> None:
    listed = [{"id": 1, "parent": 1, "name": "self", "begin": 0}]
    assert ask("trace/task_tree", "tasksOf", request(tasks=json.dumps(listed)), then="found.length") == 1


def test_a_block_lies_within_its_span(ask: Ask) -> None:
    log = {"time": 1110, "fields": [["event", "loop.blocked"], ["frame", "app.py:4 work"], ["stack", "s"]]}
    held = span("held", None, 1000, 1350) | {"tags": [["loop.blocked", "300"]], "logs": [log]}
    then = "found.map(({ start, end, took, frame }) => [start, end, took, frame])"
    assert ask("trace/loop_blocks", "blocksOf", held, then=then) == [[1010, 1310, 300, "app.py:4 work"]]
    late = held | {"logs": [{**log, "time": 1200}]}
    assert ask("trace/loop_blocks", "blocksOf", late, then=then) == [[1050, 1350, 300, "app.py:4 work"]]
    assert ask("trace/loop_blocks", "blocksOf", held | {"tags": [["loop.blocked", "much"]]}) == []


@pytest.mark.parametrize(
    ("text", "window"),
    [("120-480", {"from": 120, "to": 480}), ("480-120", {"from": 120, "to": 480}), ("0-1000", None), ("", None),
     ("a-b", None), ("900-9000", {"from": 900, "to": 1000}), ("5-5", {"from": 5, "to": 6}),
     ("1000-1000", {"from": 999, "to": 1000}), ("5000-6000", {"from": 999, "to": 1000})],
)  # fmt: skip
def test_a_window_is_read_from_the_address(ask: Ask, text: str, window: Record | None) -> None:
    assert ask("trace/time_axis", "parseWindow", text, 1000) == window


def test_zooming_keeps_the_moment_in_sight(ask: Ask) -> None:
    assert ask("trace/time_axis", "zoomed", None, 1000, 0.5, 900) == {"from": 450, "to": 950}
    assert ask("trace/time_axis", "zoomed", {"from": 450, "to": 950}, 1000, 2, 900) is None
    assert ask("trace/time_axis", "panned", {"from": 450, "to": 950}, 1000, 0.25) == {"from": 500, "to": 1000}
    assert ask("trace/time_axis", "panned", {"from": 10, "to": 110}, 1000, -0.25) == {"from": 0, "to": 100}


def test_a_zoomed_axis_has_round_ticks_within_it(ask: Ask) -> None:
    then = "[found.ticks.map(each => each.value), found.at(50230), found.side({ start: 0, end: 5 }), found.timeAt(50)]"
    whole = {"from": 50_000, "length": 1000}
    ticks, at, side, middle = ask("trace/time_axis", "axis", whole, {"from": 130, "to": 330}, then=then)
    assert ticks == [150, 200, 250, 300]
    assert (at, side, middle) == (50, "before", 50_230)


def test_spans_are_found_by_all_words(ask: Ask) -> None:
    one = span("one", None, 0, 1) | {"tags": [["db.statement", "SELECT amount"]], "peer": "db:5432"}
    other = span("other", None, 0, 1) | {"logs": [{"time": 0, "fields": [["message", "Sold out"]]}]}
    both = ["one", "other"]
    cases = {"select DB:5432": ["one"], "sold": ["other"], "message=sold": ["other"], "shop": both, "select sold": []}
    for text, names in {**cases, " ": []}.items():
        assert ask("trace/finding", "matching", [one, other], text, then="found.map(each => each.id)") == names


def test_the_deepest_error_comes_first(ask: Ask) -> None:
    spans = [span(name, None, start, 9) | {"error": name != "fine", "depth": depth}
             for name, start, depth in (("top", 0, 0), ("late", 5, 3), ("early", 4, 3), ("fine", 0, 7))]  # fmt: skip
    order = ask("trace/finding", "errorsDeepestFirst", spans, then="found.map(each => each.id)")
    assert order == ["early", "late", "top"]
    listed = [{"id": name} for name in order]
    steps = [ask("trace/finding", "following", listed, name)["id"] for name in ("none", "early", "late", "top")]
    assert steps == ["early", "late", "top", "early"]


def test_the_next_that_was_found_is_behind_the_place_where_one_is(ask: Ask) -> None:
    spans = [{"id": str(number)} for number in range(10)]
    found = [spans[2], spans[6]]
    for place, by, wanted in (("4", 1, "6"), ("6", 1, "2"), ("4", -1, "2"), ("2", -1, "6"), ("gone", 1, "2")):
        assert ask("trace/finding", "followingPlace", found, spans, place, by)["id"] == wanted
    assert ask("trace/finding", "followingPlace", [], spans, "4", 1) is None


CHAINED = """Traceback (most recent call last):
  File "/srv/stock/app.py", line 41, in reserve
    row = await pool.fetchrow(RESERVE)
          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/venv/lib/python3.12/site-packages/asyncpg/pool.py", line 118, in fetchrow
    return await con.fetchrow(query)
asyncpg.Deadlock: deadlock
with a second line

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/usr/lib/python3.12/asyncio/tasks.py", line 7, in run
  File "/srv/stock/app.py", line 44, in reserve
    raise OutOfStock(item) from error
stock.OutOfStock: umbrella
"""
FRAMES = (
    "found?.map(({ title, link, frames }) => "
    "[title, link, frames.map(({ file, line, name, source, library }) => [file, line, name, source, library])])"
)


def test_a_stack_begins_with_the_last_exception_and_its_innermost_frame(ask: Ask) -> None:
    assert ask("parts/frames", "parseStack", CHAINED, then=FRAMES) == [
        ["stock.OutOfStock: umbrella", "caused by", [
            ["/srv/stock/app.py", 44, "reserve", "raise OutOfStock(item) from error", ""],
            ["/usr/lib/python3.12/asyncio/tasks.py", 7, "run", "", "asyncio"],
        ]],
        ["asyncpg.Deadlock: deadlock\nwith a second line", "", [
            ["/venv/lib/python3.12/site-packages/asyncpg/pool.py", 118, "fetchrow", "return await con.fetchrow(query)",
             "asyncpg"],
            ["/srv/stock/app.py", 41, "reserve", "row = await pool.fetchrow(RESERVE)", ""],
        ]],
    ]  # fmt: skip


def test_the_agents_own_stacks_are_places_without_a_title(ask: Ask) -> None:
    text = '…\nFile "/srv/app.py", line 3, in handler\nFile "<frozen importlib._bootstrap>", line 9, in load'
    assert ask("parts/frames", "parseStack", text, then=FRAMES) == [
        ["", "", [["<frozen importlib._bootstrap>", 9, "load", "", "importlib._bootstrap"],
                  ["/srv/app.py", 3, "handler", "", ""]]],
    ]  # fmt: skip


def test_frames_of_the_agent_are_folded_where_it_runs_from_a_checkout(ask: Ask) -> None:
    text = 'File "/a/swagent/docs/shop.py", line 3, in sell\nFile "/a/swagent/swagent/record/threads.py", line 7'
    library = "found[0].frames.map(each => each.library)"
    assert ask("parts/frames", "parseStack", text, then=library) == ["swagent", ""]


@pytest.mark.parametrize("text", ["", "no stack", "  + Exception Group Traceback (most recent call last):\n  |   File"])
def test_other_texts_are_shown_as_they_are(ask: Ask, text: str) -> None:
    assert ask("parts/frames", "parseStack", text) is None


@pytest.mark.parametrize(
    ("template", "address"),
    [
        ("vscode://file/{file}:{line}", "vscode://file//srv/my%20app/a.py:7"),
        ("pycharm://open?file={file}&line={line}", "pycharm://open?file=/srv/my%20app/a.py&line=7"),
        ("javascript:alert('{file}')", None),
        ("data:text/html,{file}", None),
        ("vscode://file/", None),
        ("{file}", None),
        ("", None),
    ],
)
def test_a_frame_opens_where_the_template_says(ask: Ask, template: str, address: str | None) -> None:
    assert ask("parts/editor", "editorLink", template, {"file": "/srv/my app/a.py", "line": 7}) == address
