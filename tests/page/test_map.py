"""The map with many services: larger, smaller, and only a part of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from page.browser import Tab
from page.stand_in import StandIn

SERVICES = [f"service-{number}" for number in range(17)]


def crowd() -> dict[str, Any]:
    """One gateway in front of ten services, most of which call the others."""
    numbers = {"calls": 400, "errors": 0, "error_rate": 0, "p50": 20, "p99": 90, "calls_per_minute": 12.5}
    pairs = [(0, other) for other in range(1, 11)] + [(one, one + 7) for one in range(3, 10)] + [(4, 12), (5, 14)]
    edges = [{"from": SERVICES[one], "to": SERVICES[other], **numbers} for one, other in pairs]
    nodes = [{"name": name, "kind": "service", "calls": 400, "errors": 0, "p50": 20} for name in SERVICES]
    return {"version": 0, "nodes": nodes, "edges": edges}


@pytest.fixture
def crowded_map(open_tab: Callable[..., Tab], crowded: StandIn) -> Callable[..., Page]:
    def make(address: str = "#/map", width: int = 1440) -> Page:
        tab = open_tab(crowded, width=width)
        tab.page.route("**/api/map", lambda route: route.fulfill(json=crowd()))
        page = tab.open(address)
        expect(page.locator(".node").first).to_be_visible()
        return page

    return make


def boxes(page: Page) -> list[dict[str, float]]:
    found: list[dict[str, float]] = page.locator(".node-ground").evaluate_all(
        "all => all.map(each => each.getBoundingClientRect()).map(({ left, top, width, height }) => "
        "({ left, top, width, height }))"
    )
    return found


def edges_of(page: Page) -> dict[str, float]:
    box = page.locator(".map-box").bounding_box()
    assert box is not None
    return {
        "left": box["x"], "right": box["x"] + box["width"], "top": box["y"], "bottom": box["y"] + box["height"],
    }  # fmt: skip


def are_all_in_sight(page: Page) -> bool:
    frame = edges_of(page)
    return all(
        each["left"] >= frame["left"]
        and each["left"] + each["width"] <= frame["right"]
        and each["top"] >= frame["top"]
        and each["top"] + each["height"] <= frame["bottom"]
        for each in boxes(page)
    )


def scale(page: Page) -> float:
    transform = page.locator(".map-drawing > g").get_attribute("transform")
    assert transform is not None
    return float(transform.rpartition("scale(")[2].rstrip(")"))


def test_seventeen_services_can_be_read_at_once(crowded_map: Callable[..., Page]) -> None:
    page = crowded_map()
    expect(page.locator(".node")).to_have_count(17)
    assert are_all_in_sight(page)
    found = boxes(page)
    assert all(
        abs(one["left"] - other["left"]) >= one["width"] or abs(one["top"] - other["top"]) >= one["height"]
        for number, one in enumerate(found)
        for other in found[number + 1 :]
    )
    sizes = page.locator(".node-name").evaluate_all("all => all.map(each => each.getBoundingClientRect().height)")
    assert min(sizes) >= 9
    # the numbers of its lines only for what is chosen
    expect(page.locator(".edge-text")).to_have_count(0)
    page.locator(f"[data-node={SERVICES[4]}]").click()
    expect(page.locator(".edge-text")).to_have_count(3)


def test_the_map_becomes_larger_and_smaller_and_moves(crowded_map: Callable[..., Page]) -> None:
    page = crowded_map()
    before = scale(page)
    page.get_by_role("button", name="Larger (+)").click()
    page.keyboard.press("+")
    assert scale(page) == pytest.approx(before * 1.69, rel=0.01)
    page.keyboard.press("-")
    assert scale(page) == pytest.approx(before * 1.3, rel=0.01)
    [place, *_] = boxes(page)
    page.keyboard.press("ArrowRight")
    assert boxes(page)[0]["left"] == pytest.approx(place["left"] - 80, abs=1)
    frame = edges_of(page)
    page.mouse.move(frame["left"] + 5, frame["top"] + 5)
    page.mouse.down()
    page.mouse.move(frame["left"] + 55, frame["top"] + 35, steps=4)
    page.mouse.up()
    assert boxes(page)[0]["left"] == pytest.approx(place["left"] - 30, abs=1)
    assert boxes(page)[0]["top"] == pytest.approx(place["top"] + 30, abs=1)
    page.mouse.wheel(0, -400)
    page.wait_for_function(
        "before => Number(document.querySelector('.map-drawing > g').getAttribute('transform')"
        ".match(/scale\\(([\\d.]+)/)[1]) > before",
        arg=before * 1.4,
    )
    page.keyboard.press("0")
    assert are_all_in_sight(page)


def test_only_one_service_and_its_neighbours(crowded_map: Callable[..., Page]) -> None:
    page = crowded_map(f"#/map?node={SERVICES[4]}")
    page.get_by_role("link", name="Only its neighbours").click()
    expect(page).to_have_url(re.compile(rf"#/map\?node={SERVICES[4]}&focus={SERVICES[4]}$"))
    names = {SERVICES[number] for number in (0, 4, 11, 12)}
    expect(page.locator(".node")).to_have_count(len(names))
    assert set(page.locator(".node").evaluate_all("all => all.map(each => each.dataset.node)")) == names
    page.keyboard.press("f")
    expect(page.locator(".node")).to_have_count(17)
    page.keyboard.press("f")
    expect(page.locator(".node")).to_have_count(len(names))
    page.get_by_role("button", name=f"only around {SERVICES[4]}").click()
    expect(page.locator(".node")).to_have_count(17)


def test_a_node_that_gets_the_focus_comes_into_sight(crowded_map: Callable[..., Page]) -> None:
    page = crowded_map(width=390)
    frame = edges_of(page)
    for number in (0, 16, 8):
        node = page.locator(f"[data-node={SERVICES[number]}]")
        node.focus()
        box = node.locator(".node-ground").bounding_box()
        assert box is not None
        assert frame["left"] <= box["x"] + box["width"] / 2 <= frame["right"]
        assert frame["top"] <= box["y"] + box["height"] / 2 <= frame["bottom"]
    page.keyboard.press("Enter")
    expect(page.get_by_role("complementary", name="Service")).to_contain_text(SERVICES[8])
