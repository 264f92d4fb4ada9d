"""The query of the traces, their heatmap, and what differs in it: over the collector itself, with a slow tail of which
nearly all have one tenant and one build."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from random import Random

import pytest
from playwright.sync_api import Browser, Page, expect

from page.browser import Tab
from page.contrast import faint_texts
from page.served import Served
from swagent.collector.store.trace_records import Reference, Segment, Span, SpanLog
from swagent.testing import collector

TRACES = 20_000
TENANTS = ("acme", "globex", "hooli", "initech", "stark", "umbrella")
BUILDS = ("1.4.0", "1.4.1", "1.4.2")
BEGIN = 1_790_000_000_000
EDGES = """all => all.map(each => {
  const { left, top, right, bottom } = each.getBoundingClientRect();
  return [left, top, right, bottom];
})"""
ROWS = ".trace-row"
TOTAL = ".traces .total"


def _trace(number: int, random: Random) -> tuple[Segment, Segment]:
    """A request at the gateway, which has the tenant, and its call of the shop, which has the build."""
    is_slow = random.random() < 0.03
    took = random.randint(1200, 3000) if is_slow else random.randint(20, 180)
    guilty = is_slow and random.random() < 0.9
    tenant, build = ("globex", "1.4.2") if guilty else (random.choice(TENANTS), random.choice(BUILDS))
    failed = number % 100 == 0
    start, name = BEGIN + number * 180, f"planted-{number:05}"
    status = ("http.status_code", "500" if failed else "200")
    logs = (SpanLog(start, (("event", "error"), ("error.kind", "shop.errors.PaymentFailed"))),) if failed else ()
    reference = Reference("CrossProcess", name, f"{name}.a", 1, "gateway", "gateway-1", "/orders", "shop:80")
    entry, exit_ = "Entry", "Exit"
    gateway = (
        Span(1, 0, start + 1, start + took - 1, "/orders", "shop:80", exit_, "Http"),
        Span(0, -1, start, start + took, "GET:/orders", "", entry, "Http", 0, failed, (status, ("tenant", tenant))),
    )
    tags = (("build", build), ("worker", str(number % 4)))
    shop = (
        Span(0, -1, start + 2, start + took - 2, "GET:/orders", "", entry, "Http", 0, failed, tags, logs, (reference,)),
    )
    return Segment(name, f"{name}.a", "gateway", "gateway-1", gateway), Segment(
        name, f"{name}.b", "shop", "shop-1", shop
    )


@pytest.fixture(scope="module")
def planted(browser: Browser) -> Iterator[Served]:
    random = Random("planted")
    with collector() as running:
        for number in range(TRACES):
            for segment in _trace(number, random):
                running.store.add(segment)
        yield Served(running)


@pytest.fixture
def page(open_tab: Callable[..., Tab], planted: Served) -> Page:
    return open_tab(planted).open()


def _drag(page: Page, top: float, bottom: float) -> None:
    """A box over the whole time, between two shares of the height."""
    page.wait_for_function("() => document.querySelector('.heat-plot')?.clientWidth > 100")  # it was measured
    box = page.locator(".heat-plot").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 2, box["y"] + 1 + box["height"] * top)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 2, box["y"] + box["height"] * bottom, steps=4)
    page.mouse.up()


def test_three_clicks_lead_from_the_first_view_to_what_is_slow(page: Page) -> None:
    expect(page.locator(TOTAL)).to_have_text("20,000 traces")
    expect(page.locator(".heat-plot canvas")).to_be_visible()
    _drag(page, 0, 0.15)  # the first: the slow tail in the heatmap
    found = page.locator(".difference")
    expect(found).to_have_count(2)
    names = found.locator(".difference-name").all_inner_texts()
    assert sorted(name.split() for name in names) == [["build", "1.4.2"], ["tenant", "globex"]]
    shares = [
        int(each)
        for each in re.findall(r"(\d+) % of these", str(found.evaluate_all("all => all.map(a => a.ariaLabel)")))
    ]
    assert all(88 <= share <= 96 for share in shares)
    page.get_by_role("link", name="tenant=globex").click()  # the second
    expect(page.locator(TOTAL)).not_to_have_text("20,000 traces")
    _drag(page, 0, 0.15)  # the third: of that tenant too
    expect(page.locator(".difference")).to_have_count(1)
    expect(page.locator(".difference-name")).to_contain_text("1.4.2")
    expect(page.get_by_role("combobox", name="Query")).to_have_value("tenant=globex")


def test_a_box_is_in_the_address_and_narrows_the_list(page: Page) -> None:
    expect(page.locator(".heat-plot canvas")).to_be_visible()
    _drag(page, 0, 0.15)
    expect(page).to_have_url(re.compile(r"box=\d+-\d+-\d+-\d+"))
    slow = page.locator(".compared b").inner_text()
    expect(page.locator(TOTAL)).to_have_text(slow)
    page.reload()
    expect(page.locator(".heat-box.chosen")).to_be_visible()
    expect(page.locator(".compared b")).to_have_text(slow)
    page.get_by_role("link", name="Show only these traces").click()
    expect(page.locator(TOTAL)).to_have_text(slow)
    expect(page.locator(".panel")).to_have_count(0)
    page.go_back()
    expect(page.locator(".panel")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".panel")).to_have_count(0)
    expect(page.locator(TOTAL)).to_have_text("20,000 traces")


def test_the_heatmap_is_walked_by_keys(page: Page) -> None:
    plot = page.get_by_role("application")
    plot.focus()
    page.keyboard.press("ArrowUp")  # the slowest cell
    expect(page.locator(".heat-tip")).to_contain_text(re.compile("^[0-9]+ traces? · .*3.16 s"))
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".panel")).to_be_visible()
    page.locator(".slowest a").first.click()
    expect(page.locator(".span-row").first).to_be_visible()


def _settle(page: Page) -> None:
    """Until the caret is behind what was chosen."""
    page.evaluate("new Promise(requestAnimationFrame)")


def test_a_query_is_completed_by_keys(page: Page, planted: Served) -> None:
    field = page.get_by_role("combobox", name="Query")
    options = page.get_by_role("listbox", name="Completions").get_by_role("option")
    page.keyboard.press("/")
    expect(field).to_be_focused()
    page.keyboard.type("ten")
    expect(options).to_have_text([re.compile("tenant")])
    page.keyboard.press("ArrowDown")
    expect(field).to_have_attribute("aria-activedescendant", "query-option-0")
    page.keyboard.press("Enter")
    expect(field).to_have_value("tenant=")
    expect(options).to_have_count(len(TENANTS))
    expect(options.first).to_contain_text("globex")  # the most frequent
    _settle(page)
    page.keyboard.type("gl")
    expect(options).to_have_count(1)
    expect(page.locator(TOTAL)).to_contain_text("traces of tenant=gl*")  # an unfinished value does not empty the page
    expect(page.locator(".trace-row").first).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{planted.url}/#/traces?q=tenant%3Dglobex")
    expect(page.locator(TOTAL)).to_have_text(re.compile(r"^[\d,]+ traces$"))
    expect(options).to_have_count(0)
    _settle(page)
    page.keyboard.type(" error:Payment")
    expect(options.first).to_contain_text("shop.errors.PaymentFailed")
    page.keyboard.press("Escape")
    expect(options).to_have_count(0)
    expect(field).to_be_focused()
    expect(field).to_have_value("tenant=globex error:Payment")


def test_a_query_that_cannot_be_read_says_where(open_tab: Callable[..., Tab], planted: Served) -> None:
    tab = open_tab(planted)
    tab.tolerate("400")
    page = tab.open("#/traces?q=tenant%3Dglobex%20build%3E1.4.2")
    expect(page.locator(".query-error")).to_have_text(
        re.compile(r"^At character 15: build> takes a number, not 1\.4\.2")
    )
    field = page.get_by_role("combobox", name="Query")
    expect(field).to_have_attribute("aria-invalid", "true")
    field.fill("tenant=globex build=1.4.2")
    expect(page.locator(".query-error")).to_have_count(0)
    expect(page.locator(ROWS).first).to_be_visible()


def test_a_tag_leads_to_the_traces_that_have_it_and_to_those_that_have_not(
    open_tab: Callable[..., Tab], planted: Served
) -> None:
    page = open_tab(planted).open("#/traces?q=dur%3E1s")
    page.locator(ROWS).first.click()
    page.locator(".span-row").first.click()
    only = page.get_by_role("link", name="Only these: traces with this tenant")
    tenant = (only.get_attribute("title") or "").rpartition("=")[2]
    assert tenant in TENANTS
    address = page.evaluate("location.href")  # the driver's own word on it may be late
    only.click()
    expect(page.get_by_role("combobox", name="Query")).to_have_value(f"dur>1s tenant={tenant}")
    expect(page.locator(ROWS).first).to_be_visible()
    page.goto(address)
    page.get_by_role("link", name="Not these: traces without this tenant").click()
    expect(page.get_by_role("combobox", name="Query")).to_have_value(f"dur>1s tenant={tenant} tenant!={tenant}")
    expect(page.get_by_text("No trace matches")).to_be_visible()


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_labels_do_not_collide_and_texts_have_contrast(
    open_tab: Callable[..., Tab], planted: Served, width: int, scheme: str
) -> None:
    tab = open_tab(planted, width=width, scheme=scheme)
    page = tab.open()
    expect(page.locator(".heat-times span").first).to_be_visible()
    for axis, begin, end in ((".heat-times span", 0, 2), (".heat-durations span", 1, 3)):
        boxes = page.locator(axis).evaluate_all(EDGES)
        lengths = sorted((box[begin], box[end]) for box in boxes)
        assert len(lengths) >= 2
        assert all(first[1] <= second[0] + 1 for first, second in pairwise(lengths)), lengths
        assert max(box[2] for box in boxes) <= width
    _drag(page, 0, 0.15)
    expect(page.locator(".difference").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert faint_texts(page) == []
