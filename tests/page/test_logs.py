"""Log lines: when, how many, one of them by its address, and JSON in them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from page.browser import Tab
from page.stand_in import StandIn


def test_how_many_lines_match_is_shown(tab: Tab, crowded: StandIn) -> None:
    page = tab.open("#/logs")
    total = page.get_by_role("main").get_by_role("status")
    expect(total).to_have_text(f"{crowded.ask('logs')['total']:,} lines")
    page.get_by_role("combobox", name="Level").select_option("ERROR")
    expect(total).to_have_text(f"{crowded.ask('logs', level='ERROR')['total']:,} lines")


def test_the_last_minutes_are_in_the_address(tab: Tab, crowded: StandIn) -> None:
    with tab.page.expect_request(lambda request: "/api/logs?from=" in request.url) as asked:
        page = tab.open("#/logs?last=5")
    since = int(re.findall(r"from=(\d+)", asked.value.url)[0])
    assert abs(time.time() * 1000 - since - 300_000) < 60_000
    expect(page.get_by_role("combobox", name="Time")).to_have_value("5")
    page.get_by_role("combobox", name="Time").select_option("60")
    expect(page).to_have_url(f"{tab.url}/#/logs?last=60")
    page.get_by_role("combobox", name="Time").select_option("")
    expect(page).to_have_url(f"{tab.url}/#/logs")


def test_lines_from_one_moment_to_another(tab: Tab, crowded: StandIn) -> None:
    newest = crowded.ask("logs")["logs"][0]["time"]
    since, until = (newest - 600_000) // 1000 * 1000, (newest - 300_000) // 1000 * 1000
    expected = crowded.ask("logs", from_=since, to=until)["total"]
    page = tab.open(f"#/logs?from={since}&to={until}")
    expect(page.get_by_role("main").get_by_role("status")).to_have_text(f"{expected:,} lines")
    assert 0 < expected < crowded.ask("logs")["total"]
    field = page.get_by_label("From", exact=True)
    assert page.evaluate("text => new Date(text).getTime()", field.input_value()) == since
    field.fill("2020-01-01T10:00:00")
    begin = page.evaluate("new Date('2020-01-01T10:00:00').getTime()")
    expect(page).to_have_url(f"{tab.url}/#/logs?from={begin}&to={until}")
    page.get_by_role("combobox", name="Time").select_option("")
    expect(page).to_have_url(f"{tab.url}/#/logs")
    page.get_by_role("combobox", name="Time").select_option("range")
    expect(page).to_have_url(re.compile(r"from=\d+&to=\d+$"))


@pytest.mark.parametrize("width", [1280, 390])
def test_a_link_to_a_line_beyond_the_first_page_opens_it(
    open_tab: Callable[..., Tab], crowded: StandIn, width: int
) -> None:
    line = crowded.ask("logs", limit=501)["logs"][500]
    page = open_tab(crowded, width=width).open(f"#/logs?id={line['id']}")
    panel = page.get_by_role("complementary", name="Log line")
    expect(panel.locator(".log-text")).to_contain_text(line["text"].splitlines()[0])
    panel.get_by_role("link", name="Lines around it").click()
    expect(page.locator(".log-row.chosen")).to_be_visible()
    expect(panel).to_be_visible()
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)


def test_json_is_indented_and_other_texts_stay_as_they_are(tab: Tab, crowded: StandIn) -> None:
    text = '2026-01-01 [MainThread] INFO shop - {"a": [1, "b"]}'
    open_line(tab, crowded, text)
    content = tab.page.locator(".log-text")
    expect(content).to_have_text(re.compile("^{"))
    assert content.text_content() == '{\n  "a": [\n    1,\n    "b"\n  ]\n}'
    expect(tab.page.locator(".log-before")).to_have_text("2026-01-01 [MainThread] INFO shop -")
    tab.page.get_by_role("button", name="as it came").click()
    expect(content).to_have_text(text)
    assert content.text_content() == text
    tab.page.unroute_all()
    open_line(tab, crowded, "took [3 ms]")
    expect(content).to_have_text("took [3 ms]")
    expect(tab.page.get_by_role("button", name="as it came")).to_have_count(0)


def open_line(tab: Tab, crowded: StandIn, text: str) -> None:
    known: dict[str, Any] = crowded.ask("logs", limit=1)
    line = {**known["logs"][0], "id": "7", "text": text}
    tab.page.route(
        re.compile(r"/api/logs\?"),
        lambda route: route.fulfill(json={**known, "total": 1, "next": None, "logs": [line]}),
    )
    tab.open("#/logs?id=7")
