"""The first page: what is amiss, each row one click from its evidence."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .browser import Tab
from .stand_in import StandIn


@pytest.mark.gate
def test_the_page_opens_on_what_is_amiss_and_leads_to_its_evidence(tab: Tab, crowded: StandIn) -> None:
    known = crowded.ask("findings")["findings"]
    page = tab.open("")
    expect(page.locator("h1")).to_have_text("Findings")
    expect(page.locator('nav a[aria-current="page"]')).to_have_text("Findings")
    row = page.get_by_role("list", name="Findings").get_by_role("listitem")
    expect(row.locator(".finding-sentence")).to_have_text([each["sentence"] for each in known])
    place = [each["kind"] for each in known].index("error_chain")
    expect(row.locator(".finding-kind").nth(place)).to_have_text("Error chain")
    for _ in range(place + 1):
        page.keyboard.press("j")
    expect(row.locator(".finding-sentence").nth(place)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{tab.url}/{known[place]['link']}")
    expect(page.locator(".trace .findings")).to_be_visible()
    expect(page.locator(".panel")).to_be_visible()
