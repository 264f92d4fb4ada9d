"""Services and endpoints in any order and time; before and after a moment."""

from __future__ import annotations

import re
import time
from typing import Any

from playwright.sync_api import expect

from page.browser import Tab
from page.stand_in import StandIn


def test_services_are_sorted_by_any_column_and_the_address_says_so(tab: Tab, crowded: StandIn) -> None:
    known = crowded.ask("services")["services"]
    page = tab.open("#/services")
    expect(page.locator(".opener")).to_have_text(sorted(each["name"] for each in known))
    page.get_by_role("link", name="Total").click()
    expect(page).to_have_url(f"{tab.url}/#/services?sort=total")
    by_total = [each["name"] for each in sorted(known, key=lambda each: -each["total"])]
    expect(page.locator(".opener")).to_have_text(by_total)
    page.get_by_role("link", name="p95").click()
    expect(page).to_have_url(f"{tab.url}/#/services?sort=p95")
    by_p95 = [each["name"] for each in sorted(known, key=lambda each: -each["p95"])]
    expect(page.locator(".opener")).to_have_text(by_p95)
    expect(page.locator("th[aria-sort=descending]")).to_contain_text("p95")
    page.get_by_role("link", name="p95").click()
    expect(page).to_have_url(f"{tab.url}/#/services?sort=-p95")
    expect(page.locator(".opener")).to_have_text(by_p95[::-1])


def test_endpoints_have_a_p95_and_a_trend_and_follow_the_order(tab: Tab, crowded: StandIn) -> None:
    known = crowded.ask("services/stock/endpoints")["endpoints"]
    page = tab.open("#/services/stock?sort=-p50")
    names = [each["name"] for each in sorted(known, key=lambda each: each["p50"])]
    rows = page.locator(".inner tbody tr")
    expect(rows.locator("th a[data-main]")).to_have_text(names)
    expect(rows.first.get_by_role("img", name=re.compile("^Calls over time: .* at most"))).to_be_visible()
    expect(rows.first.get_by_role("img", name=re.compile("^p95 over time"))).to_be_visible()


def test_a_window_of_time_is_asked_for_and_handed_on(tab: Tab) -> None:
    page = tab.open("#/services")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.get_by_role("combobox", name="Time").select_option("15")
    expect(page).to_have_url(f"{tab.url}/#/services?last=15")
    expect(page.locator(".opener").first).to_be_visible()
    begins = [int(found[1]) for each in asked if (found := re.search(r"/api/services\?from=(\d+)$", each))]
    assert begins
    assert abs(time.time() * 1000 - 900_000 - begins[0]) < 120_000
    page.get_by_role("link", name="shop", exact=True).click()
    expect(page.get_by_role("link", name="Failed traces")).to_have_attribute(
        "href", "#/traces?service=shop&errors=1&last=15"
    )


def test_a_silent_service_claims_no_rate(tab: Tab, crowded: StandIn) -> None:
    answer = crowded.ask("services")
    now = time.time() * 1000
    for each in answer["services"]:
        each["last_call"] = now - (480_000 if each["name"] == "shop" else 0)
        each["calls_per_minute"] = 333
    tab.page.route("**/api/services", lambda route: route.fulfill(json=answer))
    page = tab.open("#/services")
    expect(page.locator("[data-row=shop] [data-label='per min']")).to_have_text("silent")
    expect(page.locator("[data-row=stock] [data-label='per min']")).to_have_text("333")


def test_keys_walk_the_rows_and_a_way_back_leads_to_the_same_one(tab: Tab) -> None:
    page = tab.open("#/services/shop")
    expect(page.locator(".inner tbody tr").first).to_be_visible()
    focused = page.locator("[data-row]:focus-within")
    page.keyboard.press("j")
    expect(focused).to_have_attribute("data-row", "gateway")
    for _ in range(4):
        page.keyboard.press("j")
    endpoint = focused.get_attribute("data-row")
    assert endpoint is not None
    assert endpoint.startswith("shop ")
    page.keyboard.press("Enter")
    expect(page.locator(".trace-row").first).to_be_visible()
    page.go_back()
    expect(focused).to_have_attribute("data-row", endpoint)
    page.keyboard.press("k")
    expect(focused).not_to_have_attribute("data-row", endpoint)


def test_a_search_narrows_the_services(tab: Tab) -> None:
    page = tab.open("#/services")
    page.get_by_role("searchbox").fill("sto")
    expect(page.locator(".opener")).to_have_text(["stock"])
    expect(page).to_have_url(f"{tab.url}/#/services?q=sto")


def row(service: str, endpoint: str, worse: float, differs: int, calls: int = 90) -> dict[str, Any]:
    before = {"calls": calls, "errors": 0, "error_rate": 0.0, "p50": 20, "p95": 40, "queries": 2.0}
    after = {**before, "p50": 20 + 60 * differs, "queries": 2.0 + differs * 7}
    found = {"p50": differs, "p95": 0, "error_rate": 0, "queries": differs}
    return {
        "service": service,
        "endpoint": endpoint,
        "before": before,
        "after": after,
        "differs": found,
        "worse": worse,
    }


def test_worse_numbers_come_first_and_chance_has_no_arrow(tab: Tab) -> None:
    few = row("stock", "GET:/few", 0, 0, calls=3)
    few["after"] = {**few["after"], "p50": 900}
    rows = [row("shop", "POST:/orders", 2, 1), row("shop", "GET:/items", 0, 0), few]
    answer = {"version": 0, "at": 5, "least": 20, "total": 3, "left_out": 0, "endpoints": rows}
    tab.page.route("**/api/compare?*", lambda route: route.fulfill(json=answer))
    page = tab.open("#/services?at=1700000000000")
    expect(page.get_by_role("heading", name="Before and after")).to_be_visible()
    expect(page.get_by_text("1 endpoint got worse.")).to_be_visible()
    found = page.locator(".compared tbody tr")
    expect(found.locator("th a")).to_have_text(["POST:/orders", "GET:/items", "GET:/few"])
    first = found.first.locator("[data-label=p50]")
    expect(first).to_contain_text("20 ms → 80 ms")
    expect(first).to_contain_text("▲ +60 ms")
    expect(first.get_by_role("img", name="worse")).to_be_visible()
    expect(found.first.locator("[data-label=Queries]")).to_contain_text("2 → 9")
    expect(found.nth(1).locator("[data-label=p50]")).to_contain_text("same")
    last = found.nth(2)
    expect(last).to_contain_text("too few to tell")
    expect(last.locator("[data-label=p50]")).to_contain_text("+880 ms")
    expect(last.get_by_role("img")).to_have_count(0)
    expect(found.first.get_by_role("link", name="90 calls after")).to_have_attribute(
        "href", "#/traces?service=shop&endpoint=POST%3A%2Forders&from=1700000000000"
    )


def test_a_mark_splits_time_from_now_on(tab: Tab) -> None:
    page = tab.open("#/services")
    expect(page.locator(".opener").first).to_be_visible()
    page.keyboard.press("m")
    expect(page).to_have_url(re.compile(r"#/services\?at=\d{13}$"))
    expect(page.get_by_text("No call has come since.")).to_be_visible()
    page.go_back()
    expect(page.locator(".opener").first).to_be_visible()
    # this browser remembers it
    options = page.get_by_role("combobox", name="Before and after").locator("option")
    expect(options.filter(has_text="Mark, ")).to_have_count(1)


def test_a_restart_splits_time(tab: Tab, crowded: StandIn) -> None:
    started = crowded.started + 900
    page = tab.open("#/services")
    page.get_by_role("combobox", name="Before and after").select_option(str(started))
    expect(page).to_have_url(f"{tab.url}/#/services?at={started}")
    expect(page.locator(".compare-lead b")).to_contain_text("Start of ")
    page.keyboard.press("Escape")
    expect(page).to_have_url(f"{tab.url}/#/services")
