"""Services, map, logs and meters; the frame around them; both colour schemes."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from page.browser import Tab
from page.stand_in import StandIn

VIEWS = ("traces", "services", "errors", "map", "logs", "meters", "runtime", "profiles")
READY = {
    "traces": ".trace-row",
    "services": ".table tbody tr",
    "errors": ".error-row",
    "map": ".node",
    "logs": ".log-row",
    "meters": ".chart canvas",
    "runtime": ".process",
    "profiles": ".profiles .table tbody tr",
}


@pytest.mark.gate
def test_services_and_their_endpoints_lead_to_traces(tab: Tab, crowded: StandIn) -> None:
    page = tab.open("#/services")
    known = crowded.ask("services")["services"]
    expect(page.locator(".opener")).to_have_text([each["name"] for each in known])
    page.get_by_role("link", name="shop").click()
    expect(page).to_have_url(f"{tab.url}/#/services/shop")
    page.get_by_role("link", name="POST:/orders/{item}").click()
    expect(page).to_have_url(f"{tab.url}/#/traces?service=shop&endpoint=POST%3A%2Forders%2F%7Bitem%7D")


@pytest.mark.parametrize("width", [1280, 390])
def test_a_long_name_of_a_service_leaves_the_numbers_in_sight(
    open_tab: Callable[..., Tab], crowded: StandIn, width: int
) -> None:
    known = crowded.ask("services")
    long = {**known["services"][0], "name": "a-service-with-a-name-longer-than-any-table-has-room-for-" * 2}
    tab = open_tab(crowded, width=width)
    answer = {**known, "services": [*known["services"], long]}
    tab.page.route("**/api/services", lambda route: route.fulfill(json=answer))
    page = tab.open("#/services")
    expect(page.locator(".opener")).to_have_count(len(known["services"]) + 1)
    right = "all => Math.max(...all.map(each => each.getBoundingClientRect().right))"
    assert page.locator(".table td, .opener").evaluate_all(right) <= width


@pytest.mark.gate
def test_the_map_shows_who_calls_whom(tab: Tab, crowded: StandIn) -> None:
    known = crowded.ask("map")
    page = tab.open("#/map")
    expect(page.locator(".node")).to_have_count(len(known["nodes"]))
    expect(page.locator(".edge")).to_have_count(len(known["edges"]))
    edge = page.locator("[data-edge='shop stock']")
    expect(edge).to_contain_text("/min")
    expect(edge).to_contain_text("failed")
    # no box lies on another
    boxes = page.locator(".node-ground").evaluate_all(
        "all => all.map(each => each.getBoundingClientRect()).map(({ x, y, width, height }) => [x, y, width, height])"
    )
    for index, (x, y, width, height) in enumerate(boxes):
        for left, top, *_ in boxes[index + 1 :]:
            assert abs(left - x) >= width or abs(top - y) >= height


def test_a_narrow_map_has_its_numbers_in_a_list(open_tab: Callable[..., Tab], crowded: StandIn) -> None:
    known = crowded.ask("map")
    page = open_tab(crowded, width=390).open("#/map")
    calls = page.get_by_role("list", name="Calls").get_by_role("listitem")
    expect(calls).to_have_count(len(known["edges"]))
    call = calls.filter(has_text=re.compile("^shop→stock"))
    expect(call).to_contain_text("/min")
    expect(call).to_contain_text("failed")
    call.get_by_role("link").click()
    expect(page.get_by_role("complementary", name="Service")).to_contain_text("stock")
    # the drawing has moved to what was chosen
    page.wait_for_function("""() => {
      const { left, right } = document.querySelector('[data-node=stock] .node-ground').getBoundingClientRect();
      return 0 <= left && right <= 390;
    }""")


def test_a_node_of_the_map_leads_to_its_traces(tab: Tab) -> None:
    page = tab.open("#/map")
    page.locator("[data-node='stock']").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{tab.url}/#/map?node=stock")
    panel = page.get_by_role("complementary", name="Service")
    expect(panel).to_contain_text("Called by")
    panel.get_by_role("link", name="Its traces").click()
    expect(page).to_have_url(f"{tab.url}/#/traces?service=stock")
    expect(page.locator(".trace-row").first).to_be_visible()


def test_logs_by_level_and_text_lead_to_their_trace(tab: Tab) -> None:
    page = tab.open("#/logs")
    expect(page.locator(".log-row").first).to_be_visible()
    page.get_by_role("combobox", name="Level").select_option("ERROR")
    expect(page.locator(".level:not(.error)")).to_have_count(0)
    page.get_by_role("searchbox").fill("umbrella")
    expect(page).to_have_url(f"{tab.url}/#/logs?level=ERROR&q=umbrella")
    expect(page.locator(".log-open .text").first).to_have_text("umbrella is sold out")
    page.locator(".log-open").first.click()
    panel = page.get_by_role("complementary", name="Log line")
    expect(panel.locator(".log-text")).to_contain_text("stock.errors.OutOfStock")
    panel.get_by_role("link", name="Open its trace").click()
    expect(page.locator(".span-row.chosen")).to_be_visible()
    expect(page.locator(".failure")).to_be_visible()


@pytest.mark.gate
def test_meters_are_charts_with_what_was_measured(tab: Tab, crowded: StandIn) -> None:
    page = tab.open("#/meters?service=shop")
    instance = crowded.ask("instances", service="shop")["instances"]
    expect(page.get_by_role("combobox", name="Instance")).to_have_value(min(each["name"] for each in instance))
    chart = page.locator("[data-meter=shop_checkout_duration]")
    expect(chart.locator("canvas")).to_be_visible()
    expect(chart.locator(".u-legend")).to_contain_text("p50")
    expect(chart.locator(".u-legend")).to_contain_text("p99")
    # something other than the ground has been drawn
    painted = chart.locator("canvas").evaluate("""canvas => new Set(new Uint32Array(
      canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size""")
    assert painted > 20
    expect(page.locator("[data-meter=instance_pvm_process_cpu_utilization]")).to_have_count(0)  # they are under Runtime
    page.get_by_role("button", name="meters of the process and the agent").click()
    expect(page.locator("[data-meter=instance_pvm_process_cpu_utilization]")).to_be_visible()
    page.get_by_role("searchbox").fill("cpu")
    expect(page.locator(".chart-card")).to_have_count(2)
    expect(page.get_by_role("article", name="CPU of the process")).to_be_visible()


@pytest.mark.gate
def test_number_keys_change_the_view(tab: Tab) -> None:
    page = tab.open()
    expect(page.locator(READY["traces"]).first).to_be_visible()
    for number, name in enumerate(VIEWS, 1):
        page.keyboard.press(str(number))
        expect(page.get_by_role("navigation").locator("[aria-current=page]")).to_have_text(name.capitalize())


def test_a_view_is_found_again_as_it_was_left(tab: Tab) -> None:
    page = tab.open("#/traces?service=stock")
    views = page.get_by_role("navigation")
    expect(page.locator(READY["traces"]).first).to_be_visible()
    views.get_by_role("link", name="Logs").click()
    page.get_by_role("combobox", name="Level").select_option("ERROR")
    expect(page).to_have_url(f"{tab.url}/#/logs?level=ERROR")
    page.keyboard.press("1")
    expect(page).to_have_url(f"{tab.url}/#/traces?service=stock")
    page.locator(READY["traces"]).first.click()
    expect(page.locator(".span-row").first).to_be_visible()
    views.get_by_role("link", name="Traces").click()
    expect(page).to_have_url(f"{tab.url}/#/traces?service=stock")
    views.get_by_role("link", name="Logs").click()
    expect(page).to_have_url(f"{tab.url}/#/logs?level=ERROR")
    page.get_by_role("link", name="Clear the search").click()
    expect(page).to_have_url(f"{tab.url}/#/logs")


def test_question_mark_helps_and_escape_closes_the_help_only(tab: Tab) -> None:
    page = tab.open("#/traces?service=stock")
    expect(page.locator(READY["traces"]).first).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator("[aria-posinset='1'] a")).to_have_class(re.compile("active"))
    expect(page).to_have_url(f"{tab.url}/#/traces?service=stock")


def test_the_chosen_colours_are_kept(tab: Tab) -> None:
    page = tab.open()
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.get_by_role("button", name="Dark colours (d)").click()
    expect(page.get_by_role("button", name="Light colours (d)")).to_be_visible()
    dark = page.evaluate(ground)
    assert dark != light
    tab.open("#/runtime")
    expect(page.locator(READY["runtime"]).first).to_be_visible()
    assert page.evaluate(ground) == dark
