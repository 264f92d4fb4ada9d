"""The page keeps itself up to date, and says when it cannot."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import ExitStack

import pytest
from playwright.sync_api import Page, Route, expect

from page.browser import Tab, appearing
from page.stand_in import StandIn, serving

NO_ANSWER = ("net::ERR_", "Failed to load resource")


@pytest.fixture
def empty(browser: object, servers: ExitStack) -> StandIn:
    stand_in: StandIn = servers.enter_context(serving(0))
    return stand_in


def _state(page: Page, state: str) -> None:
    expect(page.locator(".state")).to_have_attribute("data-state", state)


@pytest.mark.gate
def test_new_traces_appear_at_the_top_by_themselves(open_tab: Callable[..., Tab], small: StandIn) -> None:
    page = open_tab(small).open()
    expect(page.locator(".traces .total")).to_have_text("60 traces")
    _state(page, "live")
    small.add_traces(3)
    expect(page.locator(".traces .total")).to_have_text("63 traces")
    newest = small.ask("traces", limit=1)["traces"][0]["trace_id"]
    expect(page.locator("[aria-posinset='1'] a")).to_have_attribute("href", f"#/traces/{newest}")


def test_below_the_top_new_traces_are_counted_and_nothing_moves(open_tab: Callable[..., Tab], small: StandIn) -> None:
    page = open_tab(small).open()
    expect(page.locator(".traces .total")).to_have_text("60 traces")
    _state(page, "live")
    page.locator(".trace-list").evaluate("box => { box.scrollTop = 800; }")
    expect(page.locator("[aria-posinset='1']")).to_have_count(0)
    row = page.locator("[aria-posinset='24'] a")
    address, place = row.get_attribute("href"), row.bounding_box()
    small.add_traces(5)
    fresh = page.get_by_role("button", name="5 new traces")
    expect(fresh).to_be_visible()
    assert (row.get_attribute("href"), row.bounding_box()) == (address, place)
    fresh.click()
    newest = small.ask("traces", limit=1)["traces"][0]["trace_id"]
    expect(page.locator("[aria-posinset='1'] a")).to_have_attribute("href", f"#/traces/{newest}")
    expect(fresh).to_have_count(0)


def test_a_row_does_not_move_away_under_the_pointer(open_tab: Callable[..., Tab], small: StandIn) -> None:
    page = open_tab(small).open()
    expect(page.locator(".traces .total")).to_have_text("60 traces")
    _state(page, "live")
    row = page.locator("[aria-posinset='2'] a")
    address = row.get_attribute("href") or ""
    place = row.bounding_box()
    assert place is not None
    page.mouse.move(place["x"] + 40, place["y"] + 20)
    small.add_traces(4)
    # while the pointer moves they are counted
    for step in range(3000):
        page.mouse.move(place["x"] + 40 + step % 20, place["y"] + 20)
        counted, still = page.evaluate(
            "[document.querySelector('.fresh')?.innerText, document.querySelector('[aria-posinset=\"2\"] a').hash]"
        )
        if counted:
            break
    assert (counted.strip(), still) == ("4 new traces", address)
    # when it has been at rest for a while, they come by themselves
    expect(page.locator("[aria-posinset='6'] a")).to_have_attribute("href", address)


def test_the_numbers_of_the_map_follow(open_tab: Callable[..., Tab], small: StandIn) -> None:
    page = open_tab(small).open("#/map")
    gateway = page.locator("[data-node=gateway]")
    expect(gateway).to_be_visible()
    before = gateway.get_attribute("aria-label") or ""
    small.add_traces(40)
    expect(gateway).not_to_have_attribute("aria-label", before)


def test_without_the_stream_it_asks_and_returns_to_it(open_tab: Callable[..., Tab], small: StandIn) -> None:
    tab = open_tab(small)
    tab.tolerate(*NO_ANSWER)
    tab.page.route("**/api/live", lambda route: route.fulfill(status=503))
    page = tab.open()
    _state(page, "polling")
    small.add_traces(2)
    expect(page.locator(".traces .total")).to_have_text("62 traces")
    tab.page.unroute("**/api/live")
    _state(page, "live")


def test_a_collector_that_is_gone_is_said_so_and_comes_back(open_tab: Callable[..., Tab], small: StandIn) -> None:
    tab = open_tab(small)
    tab.tolerate(*NO_ANSWER)
    page = tab.open()
    expect(page.locator(".trace-row").first).to_be_visible()
    small.stop()
    _state(page, "away")
    expect(page.get_by_role("alert")).to_contain_text("The collector does not answer")
    expect(page.locator(".trace-row").first).to_be_visible()
    small.start()
    _state(page, "live")
    expect(page.get_by_role("alert")).to_have_count(0)
    small.add_traces(1)
    expect(page.locator(".traces .total")).to_have_text("61 traces")


def test_before_anything_has_arrived_it_helps(open_tab: Callable[..., Tab], empty: StandIn) -> None:
    page = open_tab(empty).open()
    expect(page.get_by_role("heading", name="Nothing has arrived yet")).to_be_visible()
    expect(page.locator(".command").nth(1)).to_contain_text(
        f"SW_AGENT_COLLECTOR_BACKEND_SERVICES={empty.collector.address} swagent run --"
    )
    with appearing(page, "Copied"):
        page.get_by_role("button", name="Copy the command").first.click()
    assert page.evaluate("navigator.clipboard.readText()") == "pip install 'swagent[grpc]'"
    empty.add_traces(2)
    expect(page.locator(".trace-row")).to_have_count(2)


def test_no_view_waits_for_the_sums_of_the_services(open_tab: Callable[..., Tab], small: StandIn) -> None:
    """They are the dearest answer. They never come here, and the rows are there."""
    tab = open_tab(small)
    asked = []
    tab.page.route("**/api/services", lambda route: asked.append(route))
    for address, ready in (("#/traces", ".trace-row"), ("#/logs", ".log-row"), ("#/runtime", ".process")):
        page = tab.open(address)
        expect(page.locator(ready).first).to_be_visible()
    assert asked, "it was asked for"
    for route in asked:
        route.abort()
    tab.tolerate(*NO_ANSWER)


def test_the_early_answer_is_kept_and_a_fresh_one_asked_for_after_it(
    open_tab: Callable[..., Tab], small: StandIn
) -> None:
    tab = open_tab(small)
    held: list[Route] = []
    lists: list[str] = []

    def hold(route: Route) -> None:
        lists.append(route.request.url)
        if len(lists) > 1:  # the fresh one does not come until the old one was seen
            held.append(route)
            return
        old = small.ask("traces", limit=200)
        small.add_traces(3)  # while the first answer is on its way
        route.fulfill(json=old)

    tab.page.route(re.compile(r"/api/traces\?limit=200$"), hold)
    page = tab.open()
    expect(page.locator(".traces .total")).to_have_text("60 traces")
    _state(page, "live")
    while not held:
        page.evaluate("new Promise(requestAnimationFrame)")  # lets the handler of the next request run
    held.pop().continue_()
    expect(page.locator(".traces .total")).to_have_text("63 traces")


def test_an_old_answer_is_followed_by_a_fresh_one(open_tab: Callable[..., Tab], small: StandIn) -> None:
    """The collector answers with what is ready, and makes the next one meanwhile; nothing else changes."""
    tab = open_tab(small)
    fresh = small.ask("services")
    old = {"version": fresh["version"] - 1, "services": fresh["services"][:2]}
    answers = [old]
    tab.page.route("**/api/services", lambda route: route.fulfill(json=answers.pop() if answers else fresh))
    page = tab.open("#/services")
    expect(page.locator(".opener")).to_have_count(len(fresh["services"]))
    assert answers == []
