"""The answers that pages of other sites get from the collector in the same browser: the page itself by a link, and
nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from queue import Queue
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from starlette.types import Message, Receive, Scope, Send

from kit import http_answers
from kit.http_peer import HttpPeer
from page.browser import TIMEOUT_MS
from swagent.collector.gate import Gate
from swagent.testing import RunningCollector, collector

QUERY = "?q=k%3D*a*b"
ELEMENT = "url => {{ const it = document.createElement('{0}'); {1}; document.body.append(it); {2} }}"
ASKING = {
    "an image": "url => { new Image().src = url }",
    "a script": ELEMENT.format("script", "it.src = url", ""),
    "a style": ELEMENT.format("link", "it.rel = 'stylesheet'; it.href = url", ""),
    "a frame": ELEMENT.format("iframe", "it.src = url", ""),
    "an object": ELEMENT.format("object", "it.data = url", ""),
    "a fetch without CORS": "url => { fetch(url, {mode: 'no-cors', credentials: 'include'}).catch(() => 0) }",
    "a fetch with CORS": "url => { fetch(url).catch(() => 0) }",
    "an event source": "url => { new EventSource(url) }",
    "a form": ELEMENT.format("form", "it.action = url", "it.submit()"),
    "a posted form": ELEMENT.format(
        "form", "it.action = url; it.method = 'post'; it.enctype = 'text/plain'", "it.submit()"
    ),
    "a beacon": "url => { navigator.sendBeacon(url, 'x') }",
    "a link": ELEMENT.format("a", "it.href = url", "it.click()"),
    "a window": "url => { window.open(url) }",
    "a socket": "url => { new WebSocket(url.replace('http:', 'ws:')) }",
}
POSTS = ("a posted form", "a beacon")


class Answered(NamedTuple):
    """The requests that went through a gate."""

    path: str
    site: str
    status: int


class Served:
    """A collector that says what it answers."""

    def __init__(self, running: RunningCollector, answered: Queue[Answered]) -> None:
        self._answered = answered
        self.page = f"http://{running.page_address}"
        self.intake = f"http://{running.http_address}"

    def next_to(self, path: str) -> Answered:
        """The next answer to a request for a path."""
        while True:
            found = self._answered.get(timeout=TIMEOUT_MS / 1000)
            if found.path == path:
                return found


@pytest.fixture
def served(whole_browser: Browser, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    answered: Queue[Answered] = Queue()
    original = Gate.__call__

    async def watched(self: Gate, scope: Scope, receive: Receive, send: Send) -> None:
        # the lifespan has none
        sites = [value.decode() for name, value in scope.get("headers", ()) if name == b"sec-fetch-site"]

        async def note(message: Message) -> None:
            if message["type"] == "http.response.start":
                answered.put(Answered(scope["path"], ", ".join(sites), message["status"]))
            await send(message)

        await original(self, scope, receive, note)

    monkeypatch.setattr(Gate, "__call__", watched)
    with collector() as running:
        yield Served(running, answered)


@pytest.fixture
def context(served: Served, whole_browser: Browser) -> Iterator[BrowserContext]:
    context = whole_browser.new_context()
    context.set_default_timeout(TIMEOUT_MS)
    yield context
    context.close()


class Stranger:
    """Another site, or another origin of the same.

    :ivar site: what a browser calls it, seen from the collector
    """

    def __init__(self, context: BrowserContext, url: str, site: str) -> None:
        self._context, self._url, self.site = context, url, site

    def ask(self, kind: str, url: str) -> Page:
        """Open a page, and have it ask for an address."""
        page = self._context.new_page()
        page.goto(self._url)
        page.evaluate(ASKING[kind], url)
        return page


@pytest.fixture(params=["cross-site", "same-site"])
def stranger(request: pytest.FixtureRequest, context: BrowserContext) -> Iterator[Stranger]:
    name = "localhost" if request.param == "cross-site" else "127.0.0.1"
    with HttpPeer(http_answers.status(200, "content-type: text/html")) as peer:
        port = peer.address.rpartition(":")[2]
        yield Stranger(context, f"http://{name}:{port}/", request.param)


def test_the_api_answers_no_other_site(stranger: Stranger, served: Served) -> None:
    for kind in ASKING:
        path = "/api/live" if kind == "an event source" else "/api/import" if kind in POSTS else "/api/traces"
        stranger.ask(kind, f"{served.page}{path}{QUERY}")
        # browsers say of a socket only its Origin
        assert served.next_to(path) == (path, "" if kind == "a socket" else stranger.site, 403), kind


def test_the_page_is_part_of_no_other(stranger: Stranger, served: Served) -> None:
    for kind in ("a frame", "an object", "an image", "a fetch without CORS"):
        stranger.ask(kind, f"{served.page}/")
        assert served.next_to("/") == ("/", stranger.site, 403), kind


def test_the_intake_takes_nothing_of_a_page(stranger: Stranger, served: Served) -> None:
    for kind in ("a beacon", "a fetch without CORS", "a posted form"):
        stranger.ask(kind, f"{served.intake}/v3/segments")
        assert served.next_to("/v3/segments") == ("/v3/segments", stranger.site, 403), kind


@pytest.mark.parametrize("kind", ["a link", "a window"])
def test_a_link_of_another_site_opens_the_page(
    stranger: Stranger, served: Served, context: BrowserContext, kind: str
) -> None:
    address = f"{served.page}/#/logs"
    if kind == "a window":
        with context.expect_page(lambda each: each.opener() is not None) as opening:
            stranger.ask(kind, address)
        page = opening.value
    else:
        page = stranger.ask(kind, address)
    expect(page).to_have_url(address)
    expect(page.get_by_role("navigation").first).to_be_visible()
    assert served.next_to("/") == ("/", stranger.site, 200)
    assert served.next_to("/api/live") == ("/api/live", "same-origin", 200)
    page.reload()
    assert served.next_to("/").status in (200, 304)
    assert served.next_to("/api/live") == ("/api/live", "same-origin", 200)


def test_the_page_may_ask_itself_and_a_person_may_type_any_address(context: BrowserContext, served: Served) -> None:
    page = context.new_page()
    page.goto(f"{served.page}/api/traces{QUERY}")
    assert served.next_to("/api/traces") == ("/api/traces", "none", 200)
    page.goto(f"{served.page}/")
    assert page.evaluate("fetch('/api/status').then(found => found.status)") == 200
