"""Errors in groups, and two traces as one tree."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from page.browser import Tab
from page.stand_in import StandIn

CHAINED = """Traceback (most recent call last):
  File "/srv/shop/rates.py", line 12, in rate
    return TABLE[currency]
KeyError: 'XAU'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/srv/shop/app.py", line 40, in handle
    total = convert(amount)
  File "/usr/lib/python3.12/functools.py", line 909, in wrapper
    return dispatch(*args)
  File "/srv/.venv/lib/python3.12/site-packages/lib/x.py", line 1, in inner
  File "/srv/shop/money.py", line 31, in convert
    raise ConversionError(currency) from error
           ^^^^^^^^
shop.money.ConversionError: XAU
of two lines"""


@pytest.mark.gate
def test_groups_lead_to_their_failures_and_these_to_span_and_logs(tab: Tab, crowded: StandIn) -> None:
    known = crowded.ask("errors")
    page = tab.open("#/errors")
    rows = page.locator(".error-row")
    expect(rows).to_have_count(len(known["groups"]))
    first = known["groups"][0]
    expect(rows.first).to_contain_text("OutOfStock")
    expect(rows.first).to_contain_text("fetchrow in stock/pool.py:118")
    expect(rows.first.locator(".error-count b")).to_have_text(f"{first['count']:,}")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{tab.url}/#/errors/{first['id']}")
    expect(page.get_by_role("heading", name="OutOfStock")).to_be_visible()
    expect(page.locator(".error-stack .frame").first).to_contain_text("fetchrow stock/pool.py:118")
    example = page.locator(".examples tbody tr").first
    expect(example.get_by_role("link", name="1 line")).to_be_visible()
    example.locator("[data-main]").click()
    expect(page.locator(".span-row.chosen")).to_be_visible()
    expect(page.locator(".failure")).to_be_visible()
    page.go_back()
    expect(page.locator(".error-stack .frame").first).to_be_visible()  # it is drawn, and hears the keys
    page.keyboard.press("Escape")
    expect(page).to_have_url(f"{tab.url}/#/errors")
    expect(page.locator(".error-row.active")).to_have_attribute("href", f"#/errors/{first['id']}")


def test_groups_are_searched_and_ordered_by_the_address(tab: Tab, crowded: StandIn) -> None:
    known = crowded.ask("errors", sort="count", service="payments")["groups"]
    page = tab.open("#/errors?sort=count&service=payments")
    counts = page.locator(".error-count b")
    expect(counts).to_have_text([f"{each['count']:,}" for each in known])
    page.get_by_role("searchbox").fill("nothing like it")
    expect(page.get_by_text("No error matches")).to_be_visible()
    page.get_by_role("link", name="show all errors").click()
    expect(page).to_have_url(f"{tab.url}/#/errors")
    expect(counts.first).to_be_visible()


def test_without_errors_it_says_so(tab: Tab) -> None:
    empty = {"version": 0, "total": 0, "failures": 0, "left_out": 0, "forgotten": 0, "groups": []}
    tab.page.route("**/api/errors*", lambda route: route.fulfill(json=empty))
    expect(tab.open("#/errors").get_by_text("Nothing has failed")).to_be_visible()


def test_the_stack_of_a_group_begins_with_the_last_exception(tab: Tab, crowded: StandIn) -> None:
    group = crowded.ask("errors")["groups"][0]["id"]
    answer = {**crowded.ask(f"errors/{group}"), "stack": CHAINED}
    tab.page.route("**/api/errors/*", lambda route: route.fulfill(json=answer))
    page = tab.open(f"#/errors/{group}")
    blocks = page.locator(".error-stack .exception")
    expect(blocks).to_have_count(2)
    expect(blocks.first.locator(".frame").first).to_contain_text("convert")
    expect(blocks.first.locator(".frames-fold")).to_contain_text("2 frames of ")
    expect(blocks.nth(1)).to_contain_text("KeyError: 'XAU'")
    expect(page.get_by_role("link", name="All traces with OutOfStock")).to_have_attribute(
        "href", "#/traces?q=error%3Astock.errors.OutOfStock"
    )


def test_a_trace_is_compared_with_the_median_and_with_another(tab: Tab, crowded: StandIn) -> None:
    slowest = crowded.ask("traces", sort="slowest", endpoint="POST:/orders", limit=1)["traces"][0]
    trace = slowest["trace_id"]
    usual = crowded.ask("median", service="gateway", endpoint="POST:/orders", trace=trace)["trace_id"]
    page = tab.open(f"#/traces/{trace}")
    page.get_by_role("link", name="Compare with the median").click()
    expect(page).to_have_url(f"{tab.url}/#/compare/{usual}/{trace}")
    rows = page.locator(".pair-row")
    expect(rows.first).to_contain_text("POST:/orders")
    expect(page.locator(".sides .side")).to_have_text(["A", "B"])
    expect(
        page.get_by_role("list", name="Where the own time differs most").get_by_role("listitem").first
    ).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator(".span-row.chosen")).to_be_visible()
    page.go_back()
    exchange = page.get_by_role("link", name="Exchange A and B")
    exchange.click()
    expect(page).to_have_url(f"{tab.url}/#/compare/{trace}/{usual}")
    expect(exchange).to_have_attribute("href", f"#/compare/{usual}/{trace}")  # it is drawn, and hears the keys
    page.keyboard.press("Escape")
    expect(page).to_have_url(f"{tab.url}/#/traces/{usual}")
    page.get_by_role("link", name="Compare with …").click()
    page.get_by_role("combobox", name="Order").select_option("slowest")
    page.get_by_role("list", name="Traces of this endpoint").get_by_role("link").first.click()
    expect(page).to_have_url(f"{tab.url}/#/compare/{trace}/{usual}")
