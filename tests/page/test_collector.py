"""The page over the collector itself, with what real agents have reported."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

import swagent
from page.browser import Tab
from page.made_up import HOSTILE
from page.served import Served
from swagent.meters import Counter
from swagent.testing import collector

CALL = "GET:/stock/{item}"
# as the official Python agent writes an exception
TRACEBACK = 'Traceback (most recent call last):\n  File "stock.py", line 27\nstock.Broken: no <i>chairs</i>\n'


def _order() -> dict[str, str]:
    Counter("shop_orders").increment()
    with swagent.entry_span("GET:/orders/{item}"):
        with swagent.local_span(HOSTILE) as span:
            span.tag("markup", "<img src=x onerror=alert(1)>")
        with swagent.exit_span("GET:/stock", peer="stock:8002") as span:
            logging.getLogger("shop").warning("only <b>2</b> of chair left")
            return dict(span.headers())


def _answer(headers: dict[str, str]) -> None:
    with swagent.entry_span(CALL, sw8=headers["sw8"]) as span:
        span.tag("item", "chair")
        span.log(Traceback=TRACEBACK)
        span.error()


@pytest.fixture(scope="module")
def served(browser: Browser) -> Iterator[Served]:
    """An order at the shop that fails in the stock."""
    with collector() as running:
        served = Served(running)
        headers = served.report("shop", _order)
        served.report("stock", lambda: _answer(headers))  # type: ignore[arg-type]
        yield served


@pytest.fixture
def page(open_tab: Callable[..., Tab], served: Served) -> Page:
    return open_tab(served).open()


@pytest.mark.gate
def test_from_the_list_to_the_waterfall_and_its_log_line(page: Page) -> None:
    row = page.locator(".trace-row")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("GET:/orders/{item}")
    expect(row).to_contain_text("Broken in stock")
    row.click()
    spans = page.locator(".span-row")
    expect(spans.locator("b")).to_have_text(["GET:/orders/{item}", HOSTILE, "GET:/stock", CALL])
    assert spans.evaluate_all("all => all.map(each => each.ariaLevel)") == ["1", "2", "2", "3"]
    spans.nth(3).click()
    details = page.get_by_role("complementary", name="Span")
    expect(details.get_by_label("Tags")).to_contain_text("itemchair")
    expect(details.get_by_role("region", name="Error").locator("p")).to_have_text("stock.Broken no <i>chairs</i>")
    page.get_by_role("tab", name="Logs 1").click()
    expect(page.locator(".lines > li")).to_contain_text("only <b>2</b> of chair left")
    page.get_by_role("link", name="its span").click()
    expect(page.locator(".span-row.chosen")).to_contain_text("GET:/stock")


def to_view(page: Page, name: str) -> None:
    page.get_by_role("navigation").get_by_role("link", name=name).click()


def test_the_runtime_is_what_the_agents_report(page: Page) -> None:
    to_view(page, "Runtime")
    # both agents sent their last ledger as they stopped
    nothing_lost = re.compile(r"^Nothing lost\. Of \d+ records each was confirmed\.\s*$")
    expect(page.locator(".verdict")).to_have_text(nothing_lost)
    fold = page.get_by_role("button", name="2 stopped processes")
    expect(fold).to_have_attribute("aria-expanded", "true")  # since none is alive
    expect(page.locator(".process")).to_have_count(2)
    page.locator(".process", has_text="shop").get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"pid {os.getpid()}")
    for title in ("Loop lag", "Tasks", "Memory", "CPU", "Queue"):
        expect(page.get_by_role("article", name=title).locator("canvas")).to_be_visible()
    expect(page.locator(".events")).to_contain_text("Shutdown")
    expect(page.get_by_role("img", name=re.compile("^Start, "))).to_be_visible()
    segments = page.get_by_role("group", name="segment")
    expect(segments).to_contain_text("1 offered")
    expect(segments).to_contain_text("1 confirmed")
    expect(page.get_by_label("Properties")).to_contain_text("language")


def test_a_record_that_arrives_appears_by_itself(empty: Served, open_tab: Callable[..., Tab]) -> None:
    page = open_tab(empty).open()
    expect(page.get_by_role("heading", name="Nothing has arrived yet")).to_be_visible()
    expect(page.locator(".state")).to_have_attribute("data-state", "live")
    for count in (1, 2):
        empty.report("shop", _order)
        expect(page.locator(".trace-row")).to_have_count(count)


def _call_oneself() -> None:
    with swagent.entry_span("/outer"), swagent.exit_span("/inner", peer="shop:8000") as span:
        headers = dict(span.headers())
    with swagent.entry_span("/inner", sw8=headers["sw8"]):
        pass


def test_a_service_that_calls_itself_has_a_loop_beside_its_box(empty: Served, open_tab: Callable[..., Tab]) -> None:
    page = open_tab(empty).open()
    expect(page.get_by_role("heading", name="Nothing has arrived yet")).to_be_visible()
    empty.report("shop", _call_oneself)
    to_view(page, "Map")
    loop = page.locator("[data-edge='shop shop']")
    expect(loop).to_contain_text("/min")
    box, ground = loop.locator("path").bounding_box(), page.locator("[data-node=shop] .node-ground").bounding_box()
    assert box is not None
    assert ground is not None
    below = box["y"] - (ground["y"] + ground["height"])
    beside = box["x"] - (ground["x"] + ground["width"])
    assert max(below, beside) == pytest.approx(0, abs=12)  # the line begins at its edge, and the arrow reaches in
    assert (box["height"] if below > beside else box["width"]) > 25
