"""The page's server: the sites that may ask it, the headers that it sends along, and its live events."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from collector.served import Api, line, serving, shop_and_stock
from swagent.collector import http_server
from swagent.collector.api import changes
from swagent.collector.api.app import page_app
from swagent.collector.gate import is_own
from swagent.collector.server import Collector
from swagent.collector.store.database import StoreError
from swagent.collector.store.store import Store

pytestmark = pytest.mark.anyio
Served = tuple[Collector, httpx.AsyncClient]


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    async with serving() as both:
        yield both


VISIT = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
OWN = "http://127.0.0.1:8000"


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/api/map", {}, 200),
        ("/api/map", {"host": "localhost:8000"}, 200),
        ("/api/map", {"host": "[::1]:8000"}, 200),
        ("/api/map", {"origin": OWN}, 200),
        ("/api/live", {"host": "evil.example:8000"}, 403),
        ("/api/live", {"host": "127.0.0.1.evil.example"}, 403),
        ("/api/live", {"host": "192.168.1.1"}, 403),
        ("/api/live", {"host": ""}, 403),
        ("/api/live", {"host": "evil.example:8000", "origin": "http://evil.example:8000"}, 403),
        ("/api/live", {"origin": "http://evil.example"}, 403),
        ("/api/live", {"origin": "null"}, 403),
        ("/api/live", {"origin": "http://127.0.0.1:1"}, 403),
        ("/api/traces", {"sec-fetch-site": "same-origin"}, 200),
        ("/api/traces", {"sec-fetch-site": "none", **VISIT}, 200),  # typed, or a bookmark
        ("/api/traces", {"sec-fetch-site": "cross-site"}, 403),
        ("/api/traces", {"sec-fetch-site": "same-site"}, 403),  # another port of this machine
        ("/api/traces", {"sec-fetch-site": ""}, 403),
        ("/api/traces", {"sec-fetch-site": "cross-site", **VISIT}, 403),
        ("/assets/main.js", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
        ("/", {"sec-fetch-site": "cross-site", **VISIT}, 200),  # a link may lead to the page
        ("/", {"sec-fetch-site": "same-site", **VISIT}, 200),
        ("/", {"sec-fetch-site": "cross-site", **VISIT, "sec-fetch-dest": "iframe"}, 403),
        ("/", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}, 403),
    ],
)
async def test_only_the_page_and_tools_of_this_machine_may_ask(path: str, headers: dict[str, str], status: int) -> None:
    answer = await Api().client.get(path, headers={"host": OWN.removeprefix("http://"), **headers})
    assert answer.status_code == status
    assert status == 200 or "error" in answer.json()


@pytest.mark.parametrize(
    ("name", "listening", "own"),
    [
        ("127.0.0.1", "127.0.0.1", True),
        ("127.9.9.9", "127.0.0.1", True),
        ("10.0.0.1", "0.0.0.0", True),
        ("10.0.0.1", "10.0.0.1", True),
        ("10.0.0.2", "10.0.0.1", False),
        ("build-server", "build-server", True),
        ("evil.example", "0.0.0.0", False),
        ("", "0.0.0.0", False),
    ],
)
def test_names_of_this_machine(name: str, listening: str, own: bool) -> None:
    assert is_own(name, listening) is own


async def test_it_is_read_only() -> None:
    client = Api().client
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        answer = await client.request(method, "/api/traces")
        assert (answer.status_code, "GET" in answer.json()["error"]) == (405, True)
    head = await client.head("/api/status")
    assert (head.status_code, head.content) == (200, b"")


async def test_every_answer_has_the_headers(served: Served) -> None:
    _, client = served
    for path, status in (("/", 200), ("/api/status", 200), ("/api/nothing", 404), ("/assets/nothing.js", 404)):
        answer = await client.get(path)
        assert answer.status_code == status
        policy = answer.headers["content-security-policy"].split("; ")
        assert {"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"} <= set(policy)
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "server" not in answer.headers


def client_of(page: Path) -> httpx.AsyncClient:
    store = Store()
    app = page_app(store, changes.Changes(store), dict, "127.0.0.1", page)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1")


async def test_files_of_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page"
    (page / "styles").mkdir(parents=True)
    (tmp_path / "secret.js").write_text("secret")
    for name, text in (("index.html", "<p>"), ("main.js", "1"), ("styles/base.css", "p {}"), ("icon.svg", "<svg/>")):
        (page / name).write_text(text)
    client = client_of(page)
    empty = client_of(tmp_path)
    assert "index.html is missing" in (await empty.get("/")).text
    assert (await empty.get("/assets/styles.css")).status_code == 404
    for path, kind in (
        ("/", "text/html"),
        ("/assets/main.js", "text/javascript"),
        ("/assets/styles/base.css", "text/css"),
        ("/assets/icon.svg", "image/svg+xml"),
    ):
        assert (await client.get(path)).headers["content-type"].partition(";")[0] == kind
    assert (await client.get("/")).text == "<p>"
    for path in ("/assets/../secret.js", "/assets/%2e%2e/secret.js", "/assets/..%2fsecret.js", "/assets/", "/main.js"):
        assert (await client.get(path)).status_code == 404, path


async def test_a_reload_asks_for_the_page_alone(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text('<script src="assets/main.js"></script>')
    (tmp_path / "main.js").write_text("1")
    client = client_of(tmp_path)
    first = await client.get("/")
    (address,) = re.findall(r'"(assets/[0-9a-f]{16}/main\.js)"', first.text)
    script = await client.get(address)
    assert (script.text, "immutable" in script.headers["cache-control"]) == ("1", True)
    assert first.headers["cache-control"] == "no-cache"
    assert (await client.get("/", headers={"if-none-match": first.headers["etag"]})).status_code == 304

    (tmp_path / "main.js").write_text("22")
    # a page that is open still: what it gets now is not to be kept under the old address
    old = await client.get(address)
    assert (old.text, old.headers["cache-control"]) == ("22", "no-cache")
    second = await client.get("/", headers={"if-none-match": first.headers["etag"]})
    assert second.status_code == 200
    assert address not in second.text
    assert (await client.get(address)).headers["cache-control"] == "no-cache"


async def test_the_style_sheets_are_one_and_modules_give_way_to_the_first_answers(tmp_path: Path) -> None:
    styles = [f'<link rel="stylesheet" href="assets/{name}.css">' for name in "ba"]
    module = '<link rel="modulepreload" href="assets/main.js">'
    (tmp_path / "index.html").write_text("\n".join(["<head>", *styles, module, "</head>"]))
    for name, text in (("a.css", "p { color: red }"), ("b.css", "p { color: blue }"), ("main.js", "1")):
        (tmp_path / name).write_text(text)
    asked_first = await client_of(tmp_path).get("/assets/0123456789abcdef/styles.css")
    assert (asked_first.status_code, asked_first.headers["cache-control"]) == (200, "no-cache")

    client = client_of(tmp_path)
    page = (await client.get("/")).text
    (address,) = re.findall(r'<link rel="stylesheet" href="(assets/[0-9a-f]{16}/styles\.css)">', page)
    assert page.count("<link") == 2
    assert '<link rel="modulepreload" fetchpriority="low" href=' in page
    sheet = await client.get(address)
    assert sheet.text == "p { color: blue }\np { color: red }"
    assert sheet.headers["content-type"] == "text/css; charset=utf-8"
    assert "immutable" in sheet.headers["cache-control"]


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [("gzip, deflate, br", "gzip"), ("identity", None), ("gzip;q=0", None), ("br, GZIP;q=0.5", "gzip"), ("", None)],
)
async def test_files_travel_compressed_where_the_browser_takes_that(
    tmp_path: Path, accepted: str, coding: str | None
) -> None:
    (tmp_path / "main.js").write_text("1 + " * 1000)
    (tmp_path / "small.js").write_text("1")
    client = client_of(tmp_path)
    answer = await client.get("/assets/main.js", headers={"accept-encoding": accepted})
    assert (answer.headers.get("content-encoding"), answer.text) == (coding, "1 + " * 1000)
    assert (int(answer.headers["content-length"]) < 1000) is (coding is not None)
    assert answer.headers["vary"] == "accept-encoding"
    small = await client.get("/assets/small.js", headers={"accept-encoding": accepted})
    assert "content-encoding" not in small.headers


async def test_live_events(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    collector, client = served
    monkeypatch.setattr(changes, "INTERVAL", 0.01)
    monkeypatch.setattr(changes, "SILENCE", 0.3)
    async with client.stream("GET", "/api/live") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = answer.aiter_lines()
        first = await event(lines)
        for segment in shop_and_stock(1):
            collector.store.add(segment)
        second = await event(lines)
        while second["segments"] < 2:
            second = await event(lines)
        collector.store.add(line(1))
        third = await event(lines)
        async for text in lines:
            if text.startswith(":"):  # silence shows too
                break
    assert (first["segments"], first["logs"], first["meters"]) == (0, 0, 0)
    assert (second["segments"], third["logs"]) == (2, 1)
    assert first["version"] < second["version"] < third["version"]


async def event(lines: AsyncIterator[str]) -> dict[str, int]:
    async for text in lines:
        if text.startswith("data: "):
            data: dict[str, int] = json.loads(text[6:])
            return data
    raise AssertionError("the stream ended")


async def test_a_flood_becomes_few_events(served: Served) -> None:
    collector, client = served
    count = 0
    async with client.stream("GET", "/api/live") as answer:
        lines = answer.aiter_lines()
        await event(lines)
        for number in range(200):
            collector.store.add(line(number))
            await asyncio.sleep(0)
        while (await event(lines))["logs"] < 200:
            count += 1
    assert count < 10


async def test_stopping_ends_live_streams_and_it_can_start_again(monkeypatch: pytest.MonkeyPatch) -> None:
    # the streams end by themselves, however busy the machine is
    monkeypatch.setattr(http_server, "_GRACE", 20)
    collector = Collector(page_port=0, http_port=0)
    for _ in range(2):
        async with collector:
            address = collector.page_address
            async with httpx.AsyncClient(base_url=f"http://{address}", trust_env=False, timeout=50) as client:
                async with client.stream("GET", "/api/live") as answer:
                    lines = answer.aiter_lines()
                    await event(lines)
                    await collector.stop()
                    assert [text async for text in lines if text.startswith("data")] == []
                with pytest.raises(httpx.ConnectError):
                    await client.get("/api/status")
    assert address == collector.page_address


async def test_a_port_in_use_is_named_and_nothing_is_left_open(served: Served) -> None:
    running, _ = served
    port = int(running.page_address.rpartition(":")[2])
    collector = Collector(http_port=0, page_port=port)
    with pytest.raises(OSError, match="in use") as refused:
        await collector.start()
    assert refused.value.filename == f"127.0.0.1:{port}"
    assert not collector.is_running
    for address in (collector.address, collector.http_address):
        host, _, free = address.rpartition(":")
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(host, int(free))


async def test_live_events_go_on_when_the_store_can_be_written_again(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    collector, client = served
    counts, failures = collector.store.counts, [StoreError("the disk is full")]

    def failing() -> dict[str, int]:
        if failures:
            raise failures.pop()
        return counts()

    monkeypatch.setattr(collector.store, "counts", failing)
    async with client.stream("GET", "/api/live") as answer:
        lines = answer.aiter_lines()
        assert await anext(lines) == ": the disk is full"
        collector.store.add(line(1))
        assert (await event(lines))["logs"] == 1
