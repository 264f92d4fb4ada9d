"""The list of traces: shown soon, searched, scrolled, walked by keys."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from page.browser import Tab
from page.stand_in import StandIn

ROWS = ".trace-row"
ENDPOINT = "POST%3A%2Fstock%2F%7Bitem%7D%2Freserve"


def _total(page: Page) -> str:
    return page.locator(".traces .total").inner_text()


@pytest.mark.gate
def test_the_list_of_ten_thousand_is_there_with_few_elements(tab: Tab) -> None:
    page = tab.open()
    expect(page.locator(".traces .total")).to_have_text("10,000 traces")
    expect(page.locator(ROWS).first).to_be_visible()
    print(f"first row after {page.evaluate('window.__firstRow'):.0f} ms")
    assert 10 <= page.locator(ROWS).count() <= 60
    assert page.evaluate("document.querySelectorAll('*').length") < 1500


def test_every_row_is_there_once_and_in_order(tab: Tab) -> None:
    page = tab.open()
    expect(page.locator(ROWS).first).to_be_visible()
    seen = page.evaluate("""async () => {
      const box = document.querySelector('.trace-list');
      const seen = new Map();
      const frame = () => new Promise(requestAnimationFrame);
      for (let top = 0; top < 30 * 400; top += 400) {
        box.scrollTop = top;
        while (box.scrollTop < top) { box.scrollTop = top; await frame(); }
        await frame(); await frame();
        for (const row of box.querySelectorAll('[role=listitem]')) {
          seen.set(Number(row.ariaPosInSet), row.querySelector('a').hash);
        }
      }
      return [...seen.entries()].sort((one, other) => one[0] - other[0]);
    }""")
    assert [position for position, _ in seen] == list(range(1, len(seen) + 1))
    assert len({address for _, address in seen}) == len(seen) > 290


@pytest.mark.gate
def test_search_by_text_narrows_and_is_in_the_address(tab: Tab) -> None:
    page = tab.open()
    page.get_by_role("combobox", name="Query").fill("health")
    expect(page).to_have_url(f"{tab.url}/#/traces?q=health")
    expect(page.locator(".traces .total")).not_to_have_text("10,000 traces")
    expect(page.locator(".endpoint").first).to_have_text("GET:/health")
    assert set(page.locator(".endpoint").all_inner_texts()) == {"GET:/health"}
    page.get_by_role("link", name="Clear").click()
    expect(page.locator(".traces .total")).to_have_text("10,000 traces")
    page.get_by_role("combobox", name="Query").fill("there-is-no-such-thing")
    expect(page.get_by_text("No trace matches")).to_be_visible()
    page.get_by_role("link", name="show all traces").click()
    expect(page.locator(ROWS).first).to_be_visible()


def test_search_by_service_errors_and_duration(tab: Tab) -> None:
    page = tab.open()
    expect(page.locator(ROWS).first).to_be_visible()
    expect(page.get_by_role("combobox", name="Endpoint")).to_be_disabled()
    page.get_by_role("combobox", name="Service").select_option("stock")
    page.get_by_role("combobox", name="Endpoint").select_option("POST:/stock/{item}/reserve")
    page.get_by_role("button", name="Errors only").click()
    least = page.get_by_label("At least, in milliseconds")
    least.fill("1 s")
    expect(least).to_have_attribute("aria-invalid", "true")
    least.fill("100")
    expect(least).not_to_have_attribute("aria-invalid", "true")
    expect(page).to_have_url(f"{tab.url}/#/traces?service=stock&endpoint={ENDPOINT}&errors=1&min_ms=100")
    expect(page.locator(f"{ROWS}:not(.failed)")).to_have_count(0)
    expect(page.locator(f"{ROWS}.failed").first).to_be_visible()
    expect(page.get_by_role("button", name="Errors only")).to_have_attribute("aria-pressed", "true")


LONG = "waited for asyncio.Lock at shop/stock.py:41, held at shop/report.py:18 " * 4
MOSTLY = [
    {"kind": "own", "text": "own code", "share": 0.5},
    None,
    {"kind": "wait", "text": LONG, "share": 0.9991},
    {"kind": "call", "text": "<b>shop</b> → db:5432", "share": 0.034},
]


def _boxes(row: Locator) -> list[tuple[float, float]]:
    """The left and right sides of a row's columns that are shown."""
    boxes = row.evaluate(
        "row => [...row.children].map(each => each.getBoundingClientRect()).filter(each => each.width)"
        ".map(each => [each.left, each.right])"
    )
    return [tuple(each) for each in boxes]


def _open_with_mostly(tab: Tab) -> Page:
    """The list, whose first rows have these causes."""

    def answer(route: Route) -> None:
        found = route.fetch().json()
        for row, mostly in zip(found["traces"], MOSTLY, strict=False):
            row["mostly"] = mostly
        route.fulfill(json=found)

    tab.page.route("**/api/traces?*", answer)
    page = tab.open()
    expect(page.locator(ROWS).nth(len(MOSTLY))).to_be_visible()
    return page


@pytest.mark.parametrize("width", [1100, 1280, 1920])
def test_a_row_says_where_most_of_its_time_went(open_tab: Callable[..., Tab], crowded: StandIn, width: int) -> None:
    page = _open_with_mostly(open_tab(crowded, width))
    expect(page.locator(".trace-head .mostly")).to_have_text("Mostly")
    cells = page.locator(f"{ROWS} .mostly")
    texts = ["own code 50 %", "", f"{LONG} 100 %", "<b>shop</b> → db:5432 3.4 %"]
    for number, text in enumerate(texts):
        expect(cells.nth(number)).to_have_text(text)
        expect(cells.nth(number)).to_have_attribute("title", text)
    head = _boxes(page.locator(".trace-head"))
    for number in range(len(texts)):
        boxes = _boxes(page.locator(ROWS).nth(number))
        assert all(before[1] <= after[0] + 0.5 for before, after in pairwise(boxes)), boxes
        assert [left for left, _ in boxes] == pytest.approx([left for left, _ in head], abs=0.5)
    # a long one is cut off in its one line
    [long, short] = (
        cells.nth(number).evaluate("each => [each.scrollWidth - each.clientWidth, each.clientHeight]")
        for number in (2, 0)
    )
    assert long[0] > 100
    assert (short[0], short[1]) == (0, long[1])


def test_a_long_failure_gives_way_to_the_operation(open_tab: Callable[..., Tab], crowded: StandIn) -> None:
    def answer(route: Route) -> None:
        found = route.fetch().json()
        kind = f"shop.errors.{'Very' * 12}LongError"
        failure = {"count": 1, "service": "stock", "kind": kind, "status": "", "is_handled": False}
        found["traces"][0] |= {"endpoint": "GET:/orders/{item}", "errors": 2, "failed": True, "failure": failure}
        route.fulfill(json=found)

    tab = open_tab(crowded, 1280)
    tab.page.route("**/api/traces?*", answer)
    row = tab.open().locator(ROWS).first
    hidden = "each => each.scrollWidth - each.clientWidth"
    assert row.locator(".endpoint").evaluate(hidden) == 0
    badge = row.locator(".badge")
    assert badge.evaluate(hidden) > 100
    assert "LongError" in (badge.get_attribute("title") or "")
    boxes = _boxes(row)
    assert all(before[1] <= after[0] + 0.5 for before, after in pairwise(boxes)), boxes


@pytest.mark.parametrize("sort", ["newest", "slowest"])
def test_where_a_rows_time_went_comes_with_the_answer_that_knows_it(tab: Tab, sort: str) -> None:
    """Of a trace that the collector had no time to look at, the next answer has it."""
    known = False

    def answer(route: Route) -> None:
        found = route.fetch().json()
        for row in found["traces"]:
            row["mostly"] = MOSTLY[3] if known else None
        route.fulfill(json=found)

    tab.page.route("**/api/traces?*", answer)
    page = tab.open(f"#/traces?sort={sort}")
    first = page.locator(f"{ROWS} .mostly").first
    expect(page.locator(ROWS).first).to_be_visible()
    expect(first).to_have_text("")
    known = True
    page.get_by_role("button", name="Errors only").click()
    expect(first).to_have_text("<b>shop</b> → db:5432 3.4 %")


def test_a_trace_id_finds_its_trace_and_enter_opens_it(tab: Tab, crowded: StandIn) -> None:
    trace_id = crowded.ask("traces", limit=400)["traces"][-1]["trace_id"]
    page = tab.open()
    page.get_by_role("combobox", name="Query").fill(trace_id)
    expect(page.locator(".traces .total")).to_have_text("1 trace")
    page.get_by_role("combobox", name="Query").press("Escape")
    page.keyboard.press("Enter")
    expect(page.locator(".trace-title code")).to_have_text(trace_id)


def test_the_chosen_row_does_not_take_the_focus_from_the_field(tab: Tab) -> None:
    page = tab.open()
    expect(page.locator(ROWS).first).to_be_visible()
    for key in ("j", "j", "j"):
        page.keyboard.press(key)
    third = page.locator("[aria-posinset='3'] a")
    expect(third).to_be_focused()
    trace_id = (third.get_attribute("href") or "").rpartition("/")[2]
    page.keyboard.press("/")
    field = page.get_by_role("combobox", name="Query")
    field.fill(trace_id)
    expect(page.locator(ROWS)).to_have_count(1)
    expect(page.locator(".trace-row.active")).to_be_visible()
    expect(field).to_be_focused()


@pytest.mark.gate
def test_keys_walk_open_and_come_back(tab: Tab) -> None:
    page = tab.open()
    expect(page.locator(ROWS).first).to_be_visible()
    for key in ("j", "j", "j", "k"):
        page.keyboard.press(key)
    second = page.locator("[aria-posinset='2'] a")
    expect(second).to_be_focused()
    address = second.get_attribute("href")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{tab.url}/{address}")
    expect(page.locator(".span-row").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(ROWS).first).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_role("combobox", name="Query")).to_be_focused()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_narrow_shows_the_same_list(open_tab: object, crowded: StandIn, scheme: str) -> None:
    tab: Tab = open_tab(crowded, width=390, scheme=scheme)  # type: ignore[operator]
    page = tab.open()
    expect(page.locator(ROWS).first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    expect(page.get_by_role("combobox", name="Service")).to_be_hidden()
    page.get_by_role("button", name="Filters").click()
    page.get_by_role("combobox", name="Service").select_option("stock")
    expect(page).to_have_url(f"{tab.url}/#/traces?service=stock")


def test_a_colour_is_never_the_only_cue(tab: Tab) -> None:
    """Beside each mark of a service is its name, or the beginning of it."""
    page = tab.open()
    expect(page.locator(".others .dot").first).to_be_visible()
    alone = page.locator(".dot").evaluate_all("all => all.filter(each => !each.nextElementSibling?.textContent).length")
    assert alone == 0
