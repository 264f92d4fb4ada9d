"""The answers of a trace's view: where the time went, which trace held the loop, the repetitions, and the failures."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from javascript.test_trace_logic import ENTRY, EXIT, SQL, span
from page.browser import Tab
from page.contrast import faint_texts
from page.made_up import Record
from page.stand_in import StandIn

START = 1_700_000_000_000
ROWS = ".span-row"
STACK = """File "/venv/lib/python3.12/site-packages/starlette/routing.py", line 7, in app
File "/srv/app.py", line 3, in work"""
TASKS = [
    {"id": 1, "parent": 0, "name": "fetch", "group": "TaskGroup", "begin": 12, "end": 80, "outcome": "failed",
     "cause": "ValueError"},
    {"id": 2, "parent": 0, "name": "store", "group": "TaskGroup", "begin": 13, "end": 81, "outcome": "cancelled",
     "cause": "task 1 failed: ValueError"},
    {"id": 3, "parent": 0, "name": "audit", "begin": 90},
]  # fmt: skip


def made(name: str, parent: str | None, start: int, end: int, **more: Any) -> Record:
    tags = [list(each) for each in more.pop("tags", {}).items()]
    found = span(name, parent, START + start, START + end, **more)
    return found | {"tags": tags, "parents": [], "consumers": [], "missing_parent": False}


def trace(*spans: Record, name: str = "made.up") -> Record:
    head = spans[0]
    took = head["end"] - head["start"]
    return {
        "version": 1, "trace_id": name, "start": head["start"], "duration": took, "after": 0, "is_messaging": False,
        "services": ["shop"], "left_out": 0, "logs": [], "spans": list(spans),
    }  # fmt: skip


def show(
    tab: Tab,
    answer: Record,
    query: str = "",
    neighbours: list[Record] | None = None,
    culprit: Record | None = None,
    findings: list[Record] | None = None,
) -> Page:
    tab.page.route("**/api/traces/made.up*", lambda route: route.fulfill(json=answer))
    found = {"version": 1, "trace_id": answer["trace_id"], "culprit": culprit, "findings": findings or []}
    tab.page.route("**/api/traces/made.up*/findings", lambda route: route.fulfill(json=found))
    loop = {"version": 1, "spans": neighbours or [], "left_out": 0}
    tab.page.route("**/api/loop?*", lambda route: route.fulfill(json=loop))
    page = tab.open(f"#/traces/{answer['trace_id']}{query}")
    expect(page.locator(ROWS).first).to_be_visible()
    return page


SPLIT = {
    "time.running": "100", "time.ready": "600", "time.awaiting": "300", "time.gc": "20",
    "time.awaited": json.dumps([["PostgreSQL/query db:5432", 250]]), "tasks": json.dumps(TASKS), "http.method": "GET",
}  # fmt: skip


def test_a_request_says_where_its_time_went(tab: Tab) -> None:
    page = show(tab, trace(made("GET:/", None, 0, 1000, **ENTRY, tags=SPLIT)))
    brief = page.get_by_role("region", name="Why was this slow?")
    expect(brief).to_contain_text("For 600 ms of 1.00 s it was ready, and others had the event loop.")
    brief.get_by_role("button", name="Where its time went").click()
    numbers = page.locator(".split-numbers > div")
    expect(numbers).to_have_text(
        [
            re.compile(r"Running\s*80 ms\s*8.0 %"),
            re.compile(r"Garbage collection\s*20 ms"),
            re.compile(r"Waiting for the loop\s*600 ms\s*60 %"),
            re.compile(r"Awaiting PostgreSQL/query db:5432\s*250 ms"),
            re.compile(r"Awaiting something else\s*50 ms"),
        ]
    )
    height = "all => all.map(each => each.getBoundingClientRect().height)"
    assert min(page.locator(".split-numbers dd").evaluate_all(height)) > 12  # no other view's style is on them
    widths = brief.locator(".time-bar i").evaluate_all("all => all.map(each => each.getBoundingClientRect().width)")
    assert widths[2] / sum(widths) == pytest.approx(0.6, abs=0.03)
    expect(page.get_by_label("Tags")).to_have_text(re.compile("^http.methodGET"))  # what is drawn is not written again
    tasks = page.get_by_role("list", name="Tasks").get_by_role("listitem")
    expect(tasks).to_have_text(
        [
            re.compile(r"fetch\s*TaskGroup\s*68 ms\s*failed at 80 ms: ValueError"),
            re.compile(r"store\s*TaskGroup\s*68 ms\s*cancelled at 81 ms: “fetch” failed: ValueError"),
            re.compile(r"audit\s*not ended\s*outlived the request"),
        ]
    )


def finding(sentence: str, span: str, trace_id: str = "made.up", confidence: str = "high") -> Record:
    return {
        "kind": "slow_dependency", "sentence": sentence, "service": "payments", "operation": "SELECT balance",
        "confidence": confidence, "link": f"#/traces/{trace_id}?span={span}", "count": 1, "ms": 900, "failures": 0,
        "share": 0.9, "peer": "db:5432", "frame": "", "places": [{"trace_id": trace_id, "span": span}],
        "baseline": None,
    }  # fmt: skip


def test_the_culprit_is_named_first_in_whatever_service_it_is(tab: Tab) -> None:
    slow = "90 % · payments → db:5432 · SELECT balance · 900 ms, usually 8 ms (p50 of 4,841)"
    held = finding("shop · report.py:18 print_report held the loop", "a:0", "other", "medium")
    culprit = finding(slow, "q")
    answer = trace(made("GET:/", None, 0, 1000, **ENTRY), made("q", "GET:/", 50, 950, **SQL))
    page = show(tab, answer, culprit=culprit, findings=[culprit, held])
    rows = page.get_by_role("list", name="Findings").get_by_role("listitem")
    expect(rows).to_have_text([slow, re.compile(r"print_report held the loop\s*probably")])
    brief = page.get_by_role("region", name="Why was this slow?")
    expect(brief.get_by_role("button", name="Where its time went")).to_be_visible()
    expect(brief).not_to_contain_text("It waited for databases")
    expect(rows.nth(1).get_by_role("link")).to_have_attribute("href", "#/traces/other?span=a:0")
    rows.first.get_by_role("button").click()
    expect(page).to_have_url(f"{tab.url}/#/traces/made.up?span=q")
    page.locator("[data-span='GET:/']").click()
    expect(page.get_by_role("region", name="Where its time went")).to_contain_text("SW_AGENT_TIME_SPLIT_EVERY=1")


def _blocker() -> Record:
    log = {
        "time": START + 150,
        "fields": [["event", "loop.blocked"], ["frame", "/srv/app.py:3 work"], ["stack", STACK]],
    }
    return made("work", "GET:/report", 40, 460, tags={"loop.blocked": "400"}) | {"logs": [log]}


def test_a_blocker_shows_its_stack_and_its_victims(tab: Tab) -> None:
    victim = made("b:0", None, 100, 500, operation="GET:/items", tags={"loop.waited": "360"}) | {
        "trace_id": "made.up.2"
    }
    elsewhere = victim | {"instance": "shop-2", "operation": "GET:/elsewhere"}
    before = made("c:0", None, 0, 20, operation="GET:/before", tags={"loop.waited": "5"}) | {"trace_id": "c"}
    answer = trace(made("GET:/report", None, 0, 480, **ENTRY), _blocker())
    page = show(tab, answer, "?span=work", [victim, elsewhere, before])
    seen = page.get_by_role("region", name="It held the loop")
    expect(seen).to_contain_text("It held the event loop for 400 ms")
    expect(seen.locator(".frame")).to_have_text([re.compile("^work srv/app.py:3")])
    expect(seen.locator(".frames-fold")).to_have_text("1 frame of starlette")
    links = seen.get_by_role("list", name="Who waited for it").get_by_role("link")
    expect(links).to_have_text(["GET:/items"])
    expect(page.locator(".held")).to_have_count(1)
    expect(page.locator(".blocked-band")).to_have_count(2)  # each row of that process
    links.first.click()
    expect(page).to_have_url(f"{tab.url}/#/traces/made.up.2?span=b%3A0")


def test_a_victim_leads_to_its_blocker(tab: Tab) -> None:
    blocker = _blocker() | {"trace_id": "made.up.1", "id": "a:1"}
    root = made("GET:/items", None, 100, 500, **ENTRY, tags={"loop.waited": "340"})
    page = show(tab, trace(root, made("q", "GET:/items", 470, 490, **SQL)), "?span=GET:/items", [blocker])
    seen = page.get_by_role("region", name="It waited for the loop")
    expect(seen).to_contain_text("/srv/app.py:3 work")
    expect(seen.get_by_role("link", name="work")).to_have_attribute("href", "#/traces/made.up.1?span=a%3A1")
    bar, hatched = (
        page.locator(f"[data-span='GET:/items'] {each}").bounding_box() for each in (".bar", ".not-scheduled")
    )
    assert bar is not None
    assert hatched is not None
    assert hatched["width"] / bar["width"] == pytest.approx(0.875, abs=0.02)  # until 450 of 100 to 500
    expect(page.get_by_role("region", name="Why was this slow?")).to_contain_text(
        "A blocked event loop made it wait 340 ms."
    )


def test_a_wait_before_the_span_is_drawn_before_it_and_is_a_part_of_its_time(tab: Tab) -> None:
    blocker = _blocker() | {"trace_id": "made.up.1", "id": "a:1"}  # it held the loop from 50 to 450
    tags = {"loop.waited": "350", "time.running": "19", "time.ready": "1", "time.awaiting": "30"}
    page = show(tab, trace(made("GET:/items", None, 450, 500, **ENTRY, tags=tags)), "?span=GET:/items", [blocker])
    bar, hatched = (page.locator(f"[data-span='GET:/items'] {each}").bounding_box() for each in (".bar", ".before"))
    assert bar is not None
    assert hatched is not None
    assert hatched["x"] + hatched["width"] == pytest.approx(bar["x"], abs=2)
    assert hatched["width"] / bar["width"] == pytest.approx(7, rel=0.05)  # 350 ms before its 50
    expect(page.locator(".split-numbers > div").first).to_have_text(
        re.compile(r"Waiting for the loop, before the application saw it\s*350 ms\s*88 %")
    )
    expect(page.get_by_role("region", name="Why was this slow?")).to_contain_text(
        "For 350 ms of 400 ms it waited for a blocked event loop, before the application saw it."
    )


def _queries(count: int = 400, failed: int = -1) -> Record:
    root = made("GET:/orders", None, 0, count * 9 + 20, **ENTRY)
    calls = [
        made(f"q{number}", root["id"], 10 + number * 9, 19 + number * 9, operation="Mysql/execute", peer="db",
             error=number == failed, tags={"db.statement": f"SELECT {number}"}, **SQL)
        for number in range(count)
    ]  # fmt: skip
    return trace(root, *calls)


def test_calls_that_repeat_are_folded_and_suspected(tab: Tab) -> None:
    page = show(tab, _queries())
    expect(page.locator(ROWS)).to_have_count(2)
    named = re.compile(r"^Mysql.execute SELECT \? .*400, 3\.60 s .*in all, perhaps one query for each row")
    fold = page.get_by_role("treeitem", name=named)
    expect(fold).to_contain_text("400, 3.60 s")
    expect(fold).to_contain_text("N+1?")
    expect(fold).to_have_attribute("aria-expanded", "false")
    assert fold.locator(".bar").count() == 1  # what cannot be seen apart is not drawn apart
    fold.click()
    expect(page.locator("[data-span='q0']")).to_have_attribute("aria-level", "3")
    page.keyboard.press("h")
    expect(page.locator(ROWS)).to_have_count(2)


def test_a_span_in_a_fold_is_shown_by_its_address(tab: Tab) -> None:
    page = show(tab, _queries(), "?span=q390")
    expect(page.locator("[data-span='q390'].chosen")).to_be_in_viewport()


def test_the_next_error_is_the_deepest_wherever_it_hides(tab: Tab) -> None:
    answer = _queries(failed=222)
    answer["spans"][0]["error"] = True
    page = show(tab, answer)
    page.keyboard.press("e")
    expect(page.locator(f"{ROWS}.chosen")).to_have_attribute("data-span", "q222")
    expect(page.locator(f"{ROWS}.chosen")).to_be_in_viewport()
    page.keyboard.press("e")
    expect(page.locator(f"{ROWS}.chosen")).to_have_attribute("data-span", "GET:/orders")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Errors only").click()
    expect(page.locator(ROWS)).to_have_count(2)
    expect(page).to_have_url(re.compile("only=errors"))
    page.get_by_role("button", name="1 error", exact=True).click()
    expect(page.locator(f"{ROWS}.chosen")).to_have_attribute("data-span", "q222")


def test_the_search_in_a_trace_opens_what_it_finds(tab: Tab) -> None:
    page = show(tab, _queries())
    page.keyboard.press("/")
    page.keyboard.type("SELECT 37")
    expect(page.get_by_text("14 found")).to_be_visible()
    expect(page.locator(f"{ROWS}.match")).to_have_count(1)  # the fold
    page.keyboard.press("Enter")
    expect(page.get_by_text("1 of 14")).to_be_visible()
    expect(page.locator(f"{ROWS}.active")).to_have_attribute("data-span", "q37")
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    expect(page.locator(f"{ROWS}.active")).to_have_attribute("data-span", "q137")
    page.keyboard.press("N")
    page.keyboard.press("N")
    expect(page.locator(f"{ROWS}.active")).to_have_attribute("data-span", "q379")
    expect(page).to_have_url(re.compile(r"find=SELECT\+37"))


def _chain() -> Record:
    root = made("POST:/orders", None, 0, 1000, **ENTRY)
    call = made("call", root["id"], 100, 150, **EXIT)
    return trace(root, call, made("query", root["id"], 150, 900, **SQL), made("late", root["id"], 500, 2000))


def test_the_critical_path_is_drawn_and_shared_out(tab: Tab) -> None:
    page = show(tab, _chain())
    page.keyboard.press("c")
    shares = page.get_by_role("region", name="Critical path")
    expect(shares.get_by_role("listitem")).to_have_text(
        [re.compile(r"75 %\s*query"), re.compile(r"20 %\s*POST:/orders\s*itself"), re.compile(r"5.0 %\s*call")]
    )
    on_path = page.locator(f"{ROWS}:has(.on-path)")
    assert on_path.evaluate_all("all => all.map(each => each.dataset.span)") == ["POST:/orders", "call", "query"]
    expect(page.locator(f"{ROWS}.off-path")).to_have_attribute("data-span", "late")
    shares.get_by_role("button").first.click()
    expect(page.locator(f"{ROWS}.chosen")).to_have_attribute("data-span", "query")
    page.keyboard.press("c")
    expect(shares).to_have_count(0)


def test_zoom_by_dragging_and_out_by_escape(tab: Tab) -> None:
    page = show(tab, _chain())
    strip = page.locator(".axis-time").bounding_box()
    assert strip is not None
    row = page.locator("[data-span='query'] .span-time").bounding_box()
    assert row is not None
    y = row["y"] + row["height"] / 2
    page.mouse.move(strip["x"] + strip["width"] * 0.05, y)
    page.mouse.down()
    page.mouse.move(strip["x"] + strip["width"] * 0.3, y, steps=4)
    expect(page.locator(".zoom-range")).to_be_visible()
    page.mouse.up()
    expect(page).to_have_url(re.compile("zoom="))
    found = re.search(r"zoom=(\d+)-(\d+)", page.url)
    assert found is not None
    assert [int(each) for each in found.groups()] == pytest.approx([100, 600], abs=6)
    expect(page.locator(f"{ROWS}.chosen")).to_have_count(0)  # it was no click
    expect(page.locator(".minimap-window")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page).to_have_url(f"{tab.url}/#/traces/made.up")
    expect(page.locator(ROWS)).to_have_count(4)


def test_a_request_is_seen_first_where_messaging_goes_on_for_longer(tab: Tab) -> None:
    root = made("POST:/orders", None, 0, 500, **ENTRY)
    consumer = made("consumer", root["id"], 3000, 10_000, kind="entry", layer="MQ")
    page = show(tab, trace(root, consumer) | {"after": 9500, "is_messaging": True})
    expect(page.locator(".trace-title .facts")).to_contain_text("500 ms and 9.50 s of messaging")
    width = "each => parseFloat(each.style.width)"
    assert page.locator("[data-span='POST:/orders'] .bar").evaluate(width) == pytest.approx(92.6, abs=0.5)
    expect(page.locator("[data-span='consumer'] .bar-text")).to_contain_text("7.00 s")
    page.get_by_role("button", name="Leave the zoom").click()
    expect(page).to_have_url(f"{tab.url}/#/traces/made.up?zoom=all")
    assert page.locator("[data-span='POST:/orders'] .bar").evaluate(width) == pytest.approx(5, abs=0.5)
    page.keyboard.press("+")
    expect(page).to_have_url(re.compile("zoom=2500-7500"))
    page.keyboard.press("Escape")
    expect(page).to_have_url(f"{tab.url}/#/traces/made.up")


def test_zoom_by_keys_and_by_address(tab: Tab) -> None:
    page = show(tab, _chain(), "?zoom=1000-2000")
    expect(page.locator("[data-span='call'] .bar")).to_have_count(0)
    expect(page.locator("[data-span='call'] .bar-text")).to_contain_text("50 ms")
    page.keyboard.press("-")
    expect(page).to_have_url(re.compile("zoom=500-2000"))
    page.keyboard.press("Shift+ArrowLeft")
    expect(page).to_have_url(re.compile("zoom=125-1625"))
    page.keyboard.press("0")
    expect(page).to_have_url(f"{tab.url}/#/traces/made.up")
    page.keyboard.press("+")
    expect(page).to_have_url(re.compile("zoom=500-1500"))
    page.get_by_role("button", name="Leave the zoom").click()
    expect(page).to_have_url(f"{tab.url}/#/traces/made.up")


def test_the_map_of_a_long_trace_zooms(tab: Tab) -> None:
    page = show(tab, _queries())
    strip = page.locator(".minimap").bounding_box()
    assert strip is not None
    y = strip["y"] + 20
    page.mouse.move(strip["x"] + strip["width"] * 0.5, y)
    page.mouse.down()
    page.mouse.move(strip["x"] + strip["width"] * 0.75, y, steps=3)
    page.mouse.up()
    found = re.search(r"zoom=(\d+)-(\d+)", page.evaluate("location.hash"))  # page.url may be late
    assert found is not None
    assert [int(each) for each in found.groups()] == pytest.approx([1810, 2715], abs=15)


def test_the_names_can_be_made_wider_and_stay_so(tab: Tab) -> None:
    page = show(tab, _chain())
    names = page.locator("[data-span='query'] .span-name")
    before = names.bounding_box()
    splitter = page.get_by_role("separator", name="Width of the names")
    splitter.focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    after = names.bounding_box()
    assert before is not None
    assert after is not None
    assert after["width"] > before["width"] + 60
    page.reload()
    expect(page.locator(ROWS).first).to_be_visible()
    expect(names).to_have_css("width", f"{after['width']:g}px")
    splitter.dblclick()
    expect(names).to_have_css("width", f"{before['width']:g}px")


def test_frames_open_in_an_editor_once_that_is_wanted(tab: Tab) -> None:
    log = {
        "time": START + 9,
        "fields": [["event", "error"], ["error.kind", "Broken"], ["message", "x"], ["stack", STACK]],
    }
    page = show(tab, trace(made("GET:/", None, 0, 10, **ENTRY, error=True) | {"logs": [log]}), "?span=GET:/")
    box = page.get_by_role("region", name="Error")
    expect(box.locator(".frame")).to_have_text([re.compile("^work srv/app.py:3")])
    expect(box.locator(".frame a")).to_have_count(0)
    box.get_by_text("1 frame of starlette").click()
    expect(box.locator(".frame")).to_have_count(2)
    box.get_by_text("Open frames in an editor").click()
    address = box.get_by_role("textbox", name="Address of a frame in the editor")
    address.fill("javascript:alert({file})")
    expect(address).to_have_attribute("aria-invalid", "true")
    expect(box.locator(".frame a")).to_have_count(0)
    address.fill("vscode://file/{file}:{line}")
    expect(box.locator(".frame a").first).to_have_attribute("href", "vscode://file//srv/app.py:3")
    page.reload()
    expect(page.locator(".frame a").first).to_have_attribute("href", "vscode://file//srv/app.py:3")
    page.get_by_role("button", name="As text").click()
    expect(page.locator("pre.stack")).to_have_text(STACK)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_answers_are_readable_and_fit(
    open_tab: Callable[..., Tab], crowded: StandIn, scheme: str, width: int
) -> None:
    tab = open_tab(crowded, width=width, scheme=scheme)
    answer = _queries(failed=3)
    tags = {**SPLIT, "loop.waited": "300"}
    answer["spans"][0]["tags"] = [list(each) for each in tags.items()]
    blocker = _blocker() | {"trace_id": "made.up.1"}
    for query in ("?path=1&find=SELECT", "?zoom=100-900&only=errors", "?span=GET:/orders", "?span=q3"):
        page = show(tab, answer, query, [blocker])
        assert faint_texts(page) == [], query
        right = "all => Math.max(...all.map(each => each.getBoundingClientRect().right))"
        wide = page.locator(".trace-tools > *, .path-shares li, .why, .tasks li, .split-numbers > div")
        assert wide.evaluate_all(right) <= width, query
