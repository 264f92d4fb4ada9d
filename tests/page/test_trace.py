"""One trace: its waterfall, the details of a span, its logs; by address, mouse and keys."""

from __future__ import annotations

import copy
import re

import pytest
from playwright.sync_api import expect

from page.browser import Tab, appearing
from page.made_up import Record
from page.stand_in import DEEP, StandIn

SPANS = ".span-row"


@pytest.fixture
def failed(crowded: StandIn) -> Record:
    """A trace across services in which a database call failed."""
    rows = crowded.ask("traces", errors=1, service="stock", limit=1)["traces"]
    found: Record = crowded.ask(f"traces/{rows[0]['trace_id']}")
    return found


def _culprit(trace: Record) -> Record:
    span: Record = next(each for each in trace["spans"] if each["error"] and each["logs"])
    return span


@pytest.mark.gate
def test_the_waterfall_shows_every_span_across_the_services(tab: Tab, failed: Record) -> None:
    page = tab.open(f"#/traces/{failed['trace_id']}")
    expect(page.locator(SPANS)).to_have_count(len(failed["spans"]))
    assert page.locator(f"{SPANS} b").all_inner_texts() == [each["operation"] for each in failed["spans"]]
    shown = page.locator(SPANS).evaluate_all("all => all.map(each => Number(each.ariaLevel) - 1)")
    assert shown == [each["depth"] for each in failed["spans"]]
    colours = page.locator(".bar").evaluate_all(
        "all => all.map(each => getComputedStyle(each.closest('.span-row')).getPropertyValue('--c'))"
    )
    by_service = {span["service"]: colour for span, colour in zip(failed["spans"], colours, strict=True)}
    assert len(set(by_service.values())) == len(by_service) >= 3
    assert [by_service[each["service"]] for each in failed["spans"]] == colours
    # bars lie where their times are, and each duration has room behind its bar
    places = page.locator(SPANS).evaluate_all("""all => all.map(each => {
      const [bar, text] = ['.bar', '.bar-text'].map(name => each.querySelector(name));
      const [{ right }, written] = [bar.getBoundingClientRect(), text.getBoundingClientRect()];
      return [parseFloat(bar.style.left), parseFloat(bar.style.width), right, written.left, written.right];
    })""")
    for span, (left, width, bar_end, text_start, text_end) in zip(failed["spans"], places, strict=True):
        assert left == pytest.approx((span["start"] - failed["start"]) / failed["duration"] * 100, abs=0.5)
        assert width == pytest.approx((span["end"] - span["start"]) / failed["duration"] * 100, abs=0.5)
        assert bar_end - 3 <= text_start  # a bar is never thinner than three pixels
        assert text_end <= 1280


@pytest.mark.gate
def test_the_details_of_a_failed_span(tab: Tab, failed: Record) -> None:
    culprit = _culprit(failed)
    page = tab.open(f"#/traces/{failed['trace_id']}")
    page.locator(f"[data-span='{culprit['id']}']").click()
    panel = page.get_by_role("complementary", name="Span")
    expect(panel.get_by_role("region", name="Error")).to_contain_text("stock.errors.OutOfStock")
    expect(panel.locator(".frame")).to_have_text([re.compile("^fetchrow stock/pool.py:118"), re.compile("^reserve")])
    for key, value in culprit["tags"]:
        expect(panel.get_by_label("Tags")).to_contain_text(f"{key}{value}")
    expect(panel.get_by_label("Where", exact=True)).to_contain_text(culprit["instance"])
    expect(panel.locator(".lines")).to_contain_text("umbrella is sold out")


def test_collapse_and_expand_by_keys(tab: Tab, failed: Record) -> None:
    page = tab.open(f"#/traces/{failed['trace_id']}")
    expect(page.locator(SPANS)).to_have_count(len(failed["spans"]))
    page.keyboard.press("j")
    page.keyboard.press("h")
    expect(page.locator(SPANS)).to_have_count(1)
    expect(page.locator(SPANS)).to_have_attribute("aria-expanded", "false")
    page.keyboard.press("l")
    expect(page.locator(SPANS)).to_have_count(len(failed["spans"]))
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator(".span-title")).to_contain_text(failed["spans"][1]["operation"])
    page.keyboard.press("Escape")
    expect(page.get_by_role("complementary", name="Span")).to_have_count(0)


def test_the_trace_id_and_a_test_can_be_copied(tab: Tab, failed: Record) -> None:
    page = tab.open(f"#/traces/{failed['trace_id']}")

    def copied(button: str) -> str:
        with appearing(page, "Copied"):
            page.get_by_role("button", name=button).click()
        return str(page.evaluate("navigator.clipboard.readText()"))

    assert re.match(r"def test_\w+\(trace\):\n[^$]*    trace.no_n_plus_one\(\)\n", copied("Copy as pytest"))
    assert copied("Copy the trace id") == failed["trace_id"]


def test_a_trace_of_two_thousand_spans_keeps_the_elements_few(tab: Tab, crowded: StandIn) -> None:
    page = tab.open(f"#/traces/{DEEP}")
    expect(page.get_by_role("tab", name="Spans 2,000")).to_be_visible()
    assert page.locator(SPANS).count() < 60
    page.locator(".waterfall .virtual").evaluate("box => { box.scrollTop = box.scrollHeight; }")
    expect(page.get_by_role("treeitem", name=re.compile(r"^mail 1998\b"))).to_be_visible()
    assert page.locator(SPANS).count() < 60


def test_clocks_that_differ_are_said_so(tab: Tab, failed: Record) -> None:
    first, second, *rest = copy.deepcopy(failed["spans"])
    for span in (second, *rest):  # one process, and whom it called: the badge is where the clock changes
        span["shift"] = 4000
    answer = {**failed, "spans": [first, second, *rest]}
    tab.page.route(f"**/api/traces/{failed['trace_id']}", lambda route: route.fulfill(json=answer))
    page = tab.open(f"#/traces/{failed['trace_id']}")
    expect(page.locator(f"[data-span='{second['id']}']")).to_contain_text("clocks differ")
    expect(page.locator(".span-row .badge.warn")).to_have_count(1)
    page.locator(f"[data-span='{second['id']}']").click()
    expect(page.get_by_label("Where", exact=True)).to_contain_text("4.00 s behind, and corrected by its caller's span")


def test_an_unknown_trace_is_an_error_with_a_reason_and_a_way_out(tab: Tab) -> None:
    tab.tolerate("Failed to load resource: the server responded with a status of 404")
    page = tab.open("#/traces/there.is.none")
    expect(page.get_by_role("alert")).to_contain_text("Nothing is kept of 'there.is.none'")
    page.get_by_role("button", name="Back to the traces").click()
    expect(page.locator(".trace-row").first).to_be_visible()


def _fulfill(tab: Tab, trace: Record) -> str:
    tab.page.route(f"**/api/traces/{trace['trace_id']}", lambda route: route.fulfill(json=trace))
    return f"#/traces/{trace['trace_id']}"


def test_other_parents_and_consumers_are_links(tab: Tab, crowded: StandIn, failed: Record) -> None:
    other = crowded.ask("traces", limit=1, q="/stock")["traces"][0]
    elsewhere = {
        "trace_id": other["trace_id"], "span": "a:0", "service": "shop", "endpoint": "POST:/orders", "kept": True
    }  # fmt: skip
    missing = {**elsewhere, "trace_id": "gone", "endpoint": "GET:/gone", "kept": False}
    first, *rest = copy.deepcopy(failed["spans"])
    first |= {"parents": [elsewhere, missing], "consumers": [elsewhere]}
    page = tab.open(f"{_fulfill(tab, {**failed, 'spans': [first, *rest]})}?span={first['id']}")
    parents = page.get_by_role("list", name="Other parents")
    expect(parents.locator("li")).to_have_count(2)
    expect(parents).to_contain_text("has not arrived")
    expect(page.get_by_role("list", name="Other consumers")).to_contain_text("another trace")
    parents.get_by_role("link", name="POST:/orders").click()
    expect(page).to_have_url(f"{tab.url}/#/traces/{other['trace_id']}?span=a%3A0")
    expect(page.locator(".span-row").first).to_be_visible()
