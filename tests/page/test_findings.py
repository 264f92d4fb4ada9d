"""The first page: what is amiss, each row one click from its evidence."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .browser import Tab


@pytest.mark.gate
def test_the_page_opens_on_what_is_amiss_and_leads_to_its_evidence(tab: Tab) -> None:
    page = tab.open("")
    expect(page.locator("h1")).to_have_text("Findings")
    expect(page.locator('nav a[aria-current="page"]')).to_have_text("Findings")
    row = page.get_by_role("list", name="Findings").get_by_role("listitem")
    expect(row).to_have_count(1)  # waits: the heading is there before the findings are
    expect(row.locator(".finding-kind")).to_have_text("Slow dependency")
    sentence = row.locator(".finding-sentence")
    said = sentence.inner_text()
    expect(page.locator(".finding-rest")).to_contain_text("No record was lost.")
    page.keyboard.press("j")
    expect(sentence).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".trace .findings")).to_contain_text(said)
    expect(page.locator(".panel")).to_be_visible()


def test_keys_lead_to_the_findings_and_to_the_traces(tab: Tab) -> None:
    page = tab.open("#/logs")
    page.keyboard.press("0")
    expect(page).to_have_url(f"{tab.url}/#/findings")
    page.keyboard.press("1")
    expect(page).to_have_url(f"{tab.url}/#/traces")
