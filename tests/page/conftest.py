"""The page in a real browser, over a collector with 10,000 made-up traces.

The library that drives the browser keeps an event loop in the main thread for as long as it runs, so the browser ends
with the last test of this folder: no other test may meet that loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Playwright, expect, sync_playwright

from page.browser import SHELL, TIMEOUT_MS, WHOLE, Tab, chromium
from page.served import Served
from page.stand_in import StandIn, serving
from swagent.testing import collector

MANY = 10_000
_HERE = Path(__file__).parent
_SECONDS = 300  # the first test starts the browser and makes the traces, too


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:  # all of the session's, not only this folder's
        if _HERE in item.path.parents and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(_SECONDS))


@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    expect.set_options(timeout=TIMEOUT_MS)
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="package")
def browser(playwright: Playwright) -> Iterator[Browser]:
    with chromium(playwright, *SHELL, *WHOLE) as browser:
        yield browser


@pytest.fixture(scope="package")
def whole_browser(playwright: Playwright) -> Iterator[Browser]:
    """For what it forbids and tells other sites, of which a part may be decided outside of its shell."""
    with chromium(playwright, *WHOLE) as browser:
        yield browser


@pytest.fixture(scope="package")
def profile(browser: Browser) -> BrowserContext:
    """One for all tabs: in a fresh one the browser reads and compiles the page anew, longer than most tests take."""
    context = browser.new_context()
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    return context


@pytest.fixture(scope="package")
def crowded(browser: Browser) -> Iterator[StandIn]:
    """10,000 traces that do not change: tests only read them."""
    with serving(MANY, is_lasting=True) as stand_in:
        yield stand_in


@pytest.fixture
def servers() -> Iterator[ExitStack]:
    """The servers of one test. They end after its tabs, which else would look for them in vain and complain."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def small(browser: Browser, servers: ExitStack) -> StandIn:
    """Few traces, for tests that change them, or the server."""
    stand_in: StandIn = servers.enter_context(serving(60))
    return stand_in


@pytest.fixture
def empty(browser: Browser) -> Iterator[Served]:
    with collector() as running:
        yield Served(running)


@pytest.fixture
def open_tab(browser: Browser, profile: BrowserContext, servers: ExitStack) -> Iterator[Callable[..., Tab]]:
    """Makes tabs that remember nothing, and holds each to its good behaviour when the test is over."""
    tabs: list[Tab] = []
    with ExitStack() as stack:

        def make(stand_in: StandIn, width: int = 1280, scheme: str = "light", *, is_apart: bool = False) -> Tab:
            context = stack.enter_context(closing(browser.new_context())) if is_apart else profile
            page = context.new_page()
            stack.callback(page.close)
            page.set_viewport_size({"width": width, "height": 800})
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            kept = {"origin": stand_in.url, "storageTypes": "all"}
            context.new_cdp_session(page).send("Storage.clearDataForOrigin", kept)
            # an answer that a test makes up may be under way when it ends, and would fail in the next test
            stack.callback(page.unroute_all, behavior="ignoreErrors")
            tabs.append(Tab(page, stand_in.url))
            return tabs[-1]

        yield make
        for tab in tabs:
            tab.verify()


@pytest.fixture
def tab(open_tab: Callable[..., Tab], crowded: StandIn) -> Tab:
    """A wide tab on the 10,000 traces."""
    return open_tab(crowded)
