"""Profiles: asked for by a button, followed while they run, shown as a flame graph and as a table."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from page.browser import Tab
from page.profiled import ENDPOINT
from page.stand_in import StandIn

PROFILE = "#/profiles/profiled"


def widths(page: Page) -> dict[str, float]:
    """How wide each bar is, by its name."""
    return dict(
        page.locator(".flame-bar").evaluate_all(
            "all => all.map(each => [each.querySelector('.long').textContent, each.getBoundingClientRect().width])"
        )
    )


def test_the_button_of_an_endpoint_makes_a_task_and_its_page_follows_it(
    open_tab: Callable[..., Tab], small: StandIn
) -> None:
    tab = open_tab(small)
    page = tab.open("#/services/shop")
    page.get_by_label(f"More: {ENDPOINT}").click()
    page.get_by_role("button", name=f"Profile: {ENDPOINT}").click()
    expect(page).to_have_url(re.compile(r"#/profiles/[^/]+$"))
    task = small.store.profiles()[-1].task
    assert (task.service, task.endpoint) == ("shop", ENDPOINT)
    expect(page.get_by_role("heading", name=ENDPOINT)).to_be_visible()
    expect(page.get_by_text("Waiting until an agent of shop asks.")).to_be_visible()
    small.take_profile(task.id)
    expect(page.get_by_text(re.compile(r"Taken by 1 process\. .* 2 requests followed so far\."))).to_be_visible()
    expect(page.locator(".flame-bar").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page).to_have_url(f"{tab.url}/#/profiles")
    expect(page.locator(".profiles tbody tr")).to_have_count(4)


def test_a_refusal_is_said_and_leads_to_what_is_in_the_way(open_tab: Callable[..., Tab], small: StandIn) -> None:
    tab = open_tab(small)
    tab.tolerate("409")
    page = tab.open("#/services/stock")
    page.get_by_label("More: GET:/stock/{item}").click()
    page.get_by_role("button", name="Profile: GET:/stock/{item}").click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("'stock' is at another profile")
    alert.get_by_role("link", name="See that one").click()
    expect(page).to_have_url(f"{tab.url}/#/profiles/waits")


def test_a_profile_that_no_instance_took_says_why_and_can_be_asked_for_again(
    open_tab: Callable[..., Tab], small: StandIn
) -> None:
    page = open_tab(small).open("#/profiles/missed")
    expect(page.get_by_text("No agent of mailer asked in time.")).to_be_visible()
    expect(page.locator(".flame")).to_have_count(0)
    page.get_by_role("button", name=f"Profile again: {ENDPOINT}").click()
    expect(page.get_by_text("Waiting until an agent of mailer asks.")).to_be_visible()


@pytest.mark.gate
def test_the_flame_graph_shows_the_slow_call_and_what_it_awaited(tab: Tab) -> None:
    page = tab.open(PROFILE)
    legend = page.get_by_label("How the time divides").get_by_role("listitem")
    expect(legend).to_have_text(
        [re.compile(r"running\s+210 ms\s+18 %"), re.compile(r"ready, loop busy\s+70 ms\s+6 %"),
         re.compile(r"awaiting\s+920 ms\s+77 %")]
    )  # fmt: skip
    awaited = page.get_by_role("treeitem", name="[awaiting /stock stock:8000], 640 ms, 53 %, 320 stacks")
    expect(awaited).to_have_class(re.compile("in-awaiting"))
    found = widths(page)
    assert found["shop.orders.order:44"] / found[ENDPOINT] == pytest.approx(710 / 1200, abs=0.01)
    assert found["… 4 calls in uvicorn, starlette, fastapi"] == pytest.approx(found[ENDPOINT], abs=1)
    assert found[f"{ENDPOINT} / tasks"] / found[ENDPOINT] == pytest.approx(90 / 1200, abs=0.01)
    # each lies below its caller
    above = page.get_by_role("treeitem", name=re.compile(r"^shop\.stock\.reserve:19")).bounding_box()
    below = page.get_by_role("treeitem", name=re.compile(r"^… 3 calls in httpx")).bounding_box()
    assert above is not None
    assert below is not None
    assert below["y"] > above["y"]
    assert below["x"] == pytest.approx(above["x"], abs=1)


def test_a_click_zooms_and_the_address_and_the_way_back_know_it(tab: Tab) -> None:
    page = tab.open(PROFILE)
    call = page.get_by_role("treeitem", name=re.compile(r"^shop\.stock\.reserve:19"))
    call.click()
    expect(page).to_have_url(re.compile(r"\?at=[0-9a-f]+$"))
    assert widths(page)["shop.stock.reserve:19"] == pytest.approx(widths(page)[ENDPOINT], abs=1)
    expect(page.get_by_role("treeitem", name=re.compile(r"^shop\.prices"))).to_have_count(0)
    page.reload()
    expect(call).to_be_visible()
    assert widths(page)["shop.stock.reserve:19"] == pytest.approx(widths(page)[ENDPOINT], abs=1)
    page.get_by_role("treeitem", name=f"{ENDPOINT}, 1.20 s").click()
    expect(page.get_by_role("treeitem", name=re.compile(r"^shop\.prices"))).to_be_visible()


def test_the_keys_walk_and_zoom(tab: Tab) -> None:
    page = tab.open(PROFILE)
    first = page.locator(".flame-bar[tabindex='0']")
    expect(first).to_have_attribute("aria-level", "1")
    first.focus()
    focused = page.locator(".flame-bar:focus")
    for key, name in (
        ("ArrowDown", "… 4 calls in"),
        ("ArrowDown", "shop.orders.order:44"),
        ("ArrowDown", "shop.stock.reserve:19"),
        ("ArrowRight", "shop.stock.reserve:21"),
        ("ArrowLeft", "shop.stock.reserve:19"),
    ):
        page.keyboard.press(key)
        expect(focused).to_have_attribute("aria-label", re.compile(f"^{re.escape(name)}"))
        expect(page.locator(".flame-shown")).to_contain_text(name)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"\?at="))
    expect(focused).to_have_attribute("aria-label", re.compile(r"^shop\.stock\.reserve:19"))
    page.keyboard.press("Escape")
    expect(focused).to_have_attribute("aria-label", re.compile(r"^shop\.orders\.order:44"))
    page.keyboard.press("Home")
    expect(focused).to_have_attribute("aria-label", re.compile(f"^{re.escape(ENDPOINT)}"))
    assert page.locator(".flame-bar[tabindex='0']").count() == 1


def test_the_table_says_the_same(tab: Tab) -> None:
    page = tab.open(f"{PROFILE}?as=table")
    rows = page.locator(".call-table tbody tr")
    expect(rows.first).to_have_text(re.compile(rf"Level 1:\s+{re.escape(ENDPOINT)}\s*1.20 s\s*100 %\s*605"))
    awaited = rows.filter(has_text="[awaiting /stock stock:8000]")
    expect(awaited).to_have_text(re.compile(r"Level 6:.*640 ms\s*53 %\s*320"))
    expect(page.locator(".flame-bars")).to_have_count(0)
    page.get_by_role("button", name="Flame graph").click()
    expect(page).to_have_url(f"{tab.url}/{PROFILE}")


def test_one_request_of_a_profile_leads_to_its_trace_and_from_there_to_its_flame(tab: Tab, crowded: StandIn) -> None:
    page = tab.open(PROFILE)
    segment = crowded.ask("profiles/profiled")["segments"][2]
    chosen = page.get_by_role("navigation", name="Requests").get_by_role("link").nth(3)
    chosen.click()
    expect(page).to_have_url(f"{tab.url}/{PROFILE}?segment={segment['segment_id']}")
    expect(chosen).to_have_attribute("aria-current", "true")
    expect(page.get_by_role("treeitem", name=f"{ENDPOINT}, 240 ms")).to_be_visible()
    page.get_by_role("link", name="Open its trace").click()
    expect(page).to_have_url(f"{tab.url}/#/traces/{segment['trace_id']}")
    page.locator(f"[data-span='{segment['segment_id']}:0']").click()
    details = page.get_by_role("complementary", name="Span")
    flame = details.get_by_role("region", name="Profile")
    expect(flame.locator(".flame-bar").first).to_be_visible()
    # its own keys: the waterfall stays where it is
    flame.locator(".flame-bar").first.focus()
    page.keyboard.press("ArrowDown")
    expect(flame.locator(".flame-bar:focus")).to_have_attribute("aria-level", "2")
    expect(page.locator(".span-row.chosen")).to_have_attribute("data-span", f"{segment['segment_id']}:0")
    flame.get_by_role("button", name="Table").click()
    expect(flame.locator(".call-table tbody tr").first).to_be_visible()
    flame.get_by_role("link", name="Open the profile").click()
    expect(page).to_have_url(f"{tab.url}/{PROFILE}?segment={segment['segment_id']}")


def test_a_span_without_a_profile_has_the_button_alone(tab: Tab, crowded: StandIn) -> None:
    rows = crowded.ask("traces", endpoint="GET:/items", limit=1)["traces"]
    trace = crowded.ask(f"traces/{rows[0]['trace_id']}")
    entry, exit_span = (next(each for each in trace["spans"] if each["kind"] == kind) for kind in ("entry", "exit"))
    page = tab.open(f"#/traces/{trace['trace_id']}?span={entry['id']}")
    expect(page.get_by_role("button", name="Profile this endpoint: GET:/items")).to_be_visible()
    expect(page.locator(".flame")).to_have_count(0)
    page = tab.open(f"#/traces/{trace['trace_id']}?span={exit_span['id']}")
    expect(page.get_by_role("complementary", name="Span")).to_contain_text(exit_span["operation"])
    expect(page.locator(".profile-button")).to_have_count(0)
