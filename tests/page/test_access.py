"""Readable, and usable without a mouse or without eyes."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from page.axe import violations
from page.browser import Tab
from page.contrast import faint_texts
from page.stand_in import StandIn
from page.test_views import READY, VIEWS


def places(crowded: StandIn) -> dict[str, tuple[str, str]]:
    """Of each view an address, and a selector of what is seen once it is there."""
    row = crowded.ask("traces", errors=1, limit=1)["traces"][0]
    trace = crowded.ask(f"traces/{row['trace_id']}")
    culprit = next(each for each in trace["spans"] if each["error"] and each["logs"])
    found = {name: (f"#/{name}", READY[name]) for name in VIEWS}
    found["span"] = (f"#/traces/{row['trace_id']}?span={culprit['id']}", ".failure")
    found["log"] = (f"#/traces/{row['trace_id']}?tab=logs", ".lines")
    found["profile"] = ("#/profiles/profiled", ".flame-bar")
    group = crowded.ask("errors")["groups"][0]
    found["error"] = (f"#/errors/{group['id']}", ".examples tbody tr")
    one, other = (each["trace_id"] for each in crowded.ask("traces", limit=2)["traces"])
    found["compare"] = (f"#/compare/{one}/{other}", ".pair-row")
    found["compare with"] = (f"#/compare/{one}", ".usual")
    process = crowded.ask("processes")["processes"][0]
    found["process"] = (f"#/runtime/{process['service']}/{quote(process['instance'], safe='')}", ".strip canvas")
    found["services of a moment"] = (f"#/services?at={round(row['start'])}", ".table tbody tr")
    found["calls"] = ("#/profiles/profiled?as=table&calls=all", ".call-table tbody tr")
    found["findings"] = ("#/findings", ".finding-sentence")
    found["endpoints"] = ("#/services/shop", ".inner tbody tr")
    return found


BEYOND = """() => [...document.querySelectorAll('main :is(button, input, select), nav a')]
  .filter(each => each.checkVisibility() && !each.closest('.virtual, .map-box, .scroll'))
  .filter(each => each.getBoundingClientRect().left < 0 || each.getBoundingClientRect().right > innerWidth)
  .map(each => each.outerHTML.slice(0, 120))"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_every_place_fits_its_width_has_contrast_and_breaks_no_rule_of_accessibility(
    open_tab: Callable[..., Tab], crowded: StandIn, scheme: str, width: int
) -> None:
    tab = open_tab(crowded, scheme=scheme, width=width)
    found = {}
    for name, (address, ready) in places(crowded).items():
        page = tab.open(address)
        expect(page.locator(ready).first).to_be_visible()
        wide = page.evaluate("document.documentElement.scrollWidth") - width
        if broken := [*faint_texts(page), *page.evaluate(BEYOND), *violations(page), *([wide] if wide else [])]:
            found[name] = broken
    assert found == {}


def test_focus_is_seen(tab: Tab) -> None:
    page = tab.open()
    expect(page.locator(READY["traces"]).first).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    for _ in range(14):
        page.keyboard.press("Tab")
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", page.evaluate("document.activeElement.outerHTML")
