"""The way back leads to the same row, at the same place, with the same selection."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from page.browser import Tab
from page.stand_in import DEEP, StandIn

ROWS = ".trace-row"
WAYS: dict[str, Callable[[Page], object]] = {
    "back": lambda page: page.go_back(),
    "escape": lambda page: page.keyboard.press("Escape"),
    "key of the view": lambda page: page.keyboard.press("1"),
}


def _scroll(page: Page, box: str, top: int) -> None:
    page.locator(box).evaluate(f"box => {{ box.scrollTop = {top}; }}")


def _top(page: Page, box: str) -> float:
    top: float = page.locator(box).evaluate("box => box.scrollTop")
    return top


@pytest.mark.parametrize("way", WAYS)
def test_from_a_trace_to_the_same_row(open_tab: Callable[..., Tab], servers: object, way: str, small: StandIn) -> None:
    small.add_traces(400)
    page = open_tab(small).open()
    expect(page.locator(".traces .total")).to_have_text("460 traces")
    for number in (190, 240):  # further than the first page
        _scroll(page, ".trace-list", number * 40 - 200)
        loaded = "rows => document.querySelector('.trace-list .virtual-space').clientHeight >= rows * 40"
        page.wait_for_function(loaded, arg=min(number + 60, 460))
        _scroll(page, ".trace-list", number * 40 - 200)
        expect(page.locator(f"[aria-posinset='{number}']")).to_be_attached()
    row = page.locator("[aria-posinset='240'] a")
    address, box, top = row.get_attribute("href"), row.bounding_box(), _top(page, ".trace-list")
    row.click()
    expect(page.locator(".span-row").first).to_be_visible()
    small.add_traces(7)
    WAYS[way](page)
    expect(page.locator(f"{ROWS}.active")).to_have_attribute("href", address or "")
    assert _top(page, ".trace-list") == top
    assert page.locator(f"{ROWS}.active").bounding_box() == box
    expect(page.get_by_role("button", name="7 new traces")).to_be_visible()
    assert page.locator(f"{ROWS}.active").bounding_box() is not None
    page.keyboard.press("j")
    expect(page.locator("[aria-posinset='241'] a.active")).to_be_visible()


def test_back_to_a_trace_as_it_was(tab: Tab, crowded: StandIn) -> None:
    page = tab.open(f"#/traces/{DEEP}")
    expect(page.get_by_role("tab", name="Spans 2,000")).to_be_visible()
    _scroll(page, ".waterfall .virtual", 20_000)
    row = page.get_by_role("treeitem", name=re.compile(r"^mail 630\b"))
    row.click()
    expect(page.locator(".span-title")).to_have_text("mail 630")
    expect(page.locator(".trace .findings")).to_be_visible()  # they come last, above the rows
    top, box = _top(page, ".waterfall .virtual"), row.bounding_box()
    page.keyboard.press("1")
    expect(page.locator(ROWS).first).to_be_visible()
    page.go_back()
    expect(page.locator(".span-row.chosen")).to_contain_text("mail 630")
    expect(page.locator(".trace .findings")).to_be_visible()
    assert _top(page, ".waterfall .virtual") == top
    assert row.bounding_box() == box


def test_back_to_the_log_line(tab: Tab) -> None:
    page = tab.open("#/logs")
    expect(page.locator(".log-row").first).to_be_visible()
    _scroll(page, ".log-list", 2000)
    row = page.locator(".log-row").nth(15)
    row.locator(".log-open").click()
    expect(page.locator(".log-row.chosen")).to_have_count(1)
    text, top = page.locator(".log-row.chosen").inner_text(), _top(page, ".log-list")
    page.keyboard.press("1")
    expect(page.locator(ROWS).first).to_be_visible()
    page.go_back()
    expect(page.locator(".log-row.chosen")).to_have_text(text, use_inner_text=True)
    assert _top(page, ".log-list") == top
