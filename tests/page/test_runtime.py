"""The processes, one of them over time, and what its agent lost."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from page.browser import Tab
from page.made_up import instance_name
from page.stand_in import StandIn

MAILER = instance_name("mailer", 0)


def answered(tab: Tab, crowded: StandIn, change: Callable[[list[Any]], list[Any]]) -> Page:
    """The list of processes, changed."""
    known = crowded.ask("processes")

    def fulfill(route: Route) -> None:
        route.fulfill(json={**known, "processes": change(known["processes"])})

    tab.page.route("**/api/processes", fulfill)
    return tab.open("#/runtime")


def test_a_process_is_called_by_its_host_and_number(tab: Tab) -> None:
    page = tab.open("#/runtime?service=mailer")
    row = page.locator(".process")
    expect(row).to_have_count(1)  # the other one is silent
    expect(row).to_contain_text("mailer-0 · pid 4100")
    expect(row).to_contain_text("CPython 3.12.4")
    expect(row).to_contain_text("84 MB")
    expect(row).not_to_contain_text(MAILER)


def test_those_that_have_gone_are_folded(tab: Tab, crowded: StandIn) -> None:
    def many(processes: list[Any]) -> list[Any]:
        gone = [{**processes[0], "instance": f"gone-{number}", "state": "stopped"} for number in range(28)]
        return [*processes, *gone]

    page = answered(tab, crowded, many)
    fold = page.get_by_role("button", name="28 stopped and 1 silent processes")
    alive = len([each for each in crowded.ask("processes")["processes"] if each["state"] == "alive"])
    expect(page.locator(".process")).to_have_count(alive)
    fold.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{tab.url}/#/runtime?gone=1")
    expect(page.locator(".process")).to_have_count(alive + 29)
    fold.click()
    expect(page.locator(".process")).to_have_count(alive)


def test_one_process_over_time(tab: Tab) -> None:
    page = tab.open("#/runtime")
    page.get_by_role("link", name="mailer-0").last.click()
    expect(page).to_have_url(f"{tab.url}/#/runtime/mailer/{MAILER.replace('@', '%40')}")
    titles = ["Loop lag", "Tasks", "Garbage collection", "Memory", "CPU", "Threads", "Queue", "Lost records"]
    expect(page.locator(".strip h2")).to_have_text([re.compile(f"^\\s*{each}") for each in titles])
    expect(page.get_by_role("article", name="Memory").locator(".u-legend")).to_contain_text("MB")
    # one time axis: each chart begins and ends at the same place
    edges = page.locator(".strip .u-over").evaluate_all(
        "all => all.map(each => each.getBoundingClientRect()).map(({ left, right }) => `${left} ${right}`)"
    )
    assert len(set(edges)) == 1
    track = page.locator(".time-track").bounding_box()
    assert track is not None
    left, right = map(float, edges[0].split())
    assert track["x"] == pytest.approx(left, abs=2)
    assert track["x"] + track["width"] == pytest.approx(right, abs=2)
    page.keyboard.press("Escape")
    expect(page).to_have_url(f"{tab.url}/#/runtime")


def test_an_event_is_a_mark_and_leads_to_what_held_the_loop(tab: Tab) -> None:
    page = tab.open(f"#/runtime/mailer/{MAILER}")
    expect(page.get_by_role("combobox", name="Time")).to_have_value("15")
    mark = page.get_by_role("link", name=re.compile("^loop_blocked, .*312 ms"))
    expect(mark).to_be_visible()
    other = page.locator(".events li", has_text="loop_blocked").get_by_role("link")
    # both at once: the time is another one in each answer
    addresses = mark.evaluate(
        "(mark, other) => [mark, other].map(each => each.getAttribute('href'))", other.element_handle()
    )
    assert re.fullmatch(r"#/traces\?service=mailer&q=loop\.blocked%3D\*&from=\d+&to=\d+", addresses[0])
    assert addresses[0] == addresses[1]
    expect(page.get_by_role("img", name=re.compile("^Start, "))).to_have_count(0)  # that was before
    page.get_by_role("combobox", name="Time").select_option("all")
    expect(page.get_by_role("img", name=re.compile("^Start, "))).to_be_visible()
    expect(page).to_have_url(re.compile(r"\?last=all$"))


def test_losses_have_a_reason_and_the_setting_to_change(tab: Tab, crowded: StandIn) -> None:
    agents = crowded.ask("ledgers")["agents"]
    lost = sum(
        sum(each["dropped"].values()) + sum(each["refused"].values()) for agent in agents for each in agent["signals"]
    )
    page = tab.open("#/runtime")
    expect(page.locator(".verdict")).to_contain_text(f"{lost:,} records lost")
    page.locator(".verdict").get_by_role("link", name="mailer-0").click()
    reasons = page.get_by_role("group", name="segment").locator(".reason")
    expect(reasons.filter(has_text="evicted")).to_contain_text("Raise SW_AGENT_TRACE_REPORTER_MAX_BUFFER_SIZE")
    expect(reasons.filter(has_text="ambiguous")).to_contain_text("SW_AGENT_DELIVERY")
    expect(reasons.filter(has_text="full")).to_be_visible()


@pytest.mark.parametrize(
    ("state", "queued", "words"),
    [
        ("alive", 3, "Nothing lost. Of 100 records each was confirmed, or is on its way."),
        ("final", 0, "Nothing lost. Of 100 records each was confirmed."),
        ("stopped", 3, "3 records of 1 process that has stopped or went silent were on the way at the last report"),
        ("silent", 0, "What 1 process that has stopped or went silent recorded after the last report"),
    ],
)
def test_a_ledger_of_one_that_has_gone_promises_nothing(
    tab: Tab, crowded: StandIn, state: str, queued: int, words: str
) -> None:
    signal = {
        "signal": "segment", "offered": 100, "confirmed": 100 - queued, "queued": queued, "in_flight": 0,
        "spilled": 0, "recovered": 0, "refused": {}, "dropped": {},
    }  # fmt: skip
    shown = state.replace("final", "stopped")
    changed = {"state": shown, "signals": [signal], "is_final": state == "final"}
    page = answered(tab, crowded, lambda processes: [{**processes[0], **changed}])
    expect(page.locator(".verdict")).to_contain_text(words)
    expect(page.locator(".process-state")).to_have_text(shown)
    if state != "alive":
        expect(page.locator(".verdict")).not_to_contain_text("is on its way")


@pytest.mark.parametrize("old", ["instances", "ledgers"])
def test_the_old_addresses_lead_here(tab: Tab, old: str) -> None:
    page = tab.open(f"#/{old}?service=stock")
    expect(page).to_have_url(f"{tab.url}/#/runtime?service=stock")
    expect(page.locator(".process")).to_have_count(2)


def test_a_trace_shows_what_its_services_lost_at_that_time(tab: Tab, crowded: StandIn) -> None:
    rows = crowded.ask("traces", limit=1000)["traces"][300:]
    lossy = next(each for each in rows if "mailer" in each["services"])
    fine = next(each for each in rows if "mailer" not in each["services"])
    page = tab.open(f"#/traces/{lossy['trace_id']}")
    badge = page.locator(".loss-badge")
    expect(badge).to_have_text(re.compile(r"^mailer lost \d+ records then$"))
    expect(badge).to_have_attribute(
        "title", re.compile(r"\d+ segments dropped between .*: pushed out by newer records")
    )
    badge.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("mailer-0")
    tab.open(f"#/traces/{fine['trace_id']}")
    expect(page.locator(".span-row").first).to_be_visible()
    expect(badge).to_have_count(0)
