"""Traces are saved as a file, and come back by choice or by drop: the page over the collector itself."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from collector.served import line, shop_and_stock
from page.browser import Tab
from page.contrast import faint_texts
from page.made_up import HOSTILE
from page.served import Served
from page.stand_in import StandIn
from swagent.testing import collector, load_traces

DROP = """([name, text]) => {
  const dragged = new DataTransfer();
  dragged.items.add(new File([text], name, { type: 'application/json' }));
  for (const kind of ['dragover', 'drop'])
    document.body.dispatchEvent(new DragEvent(kind, { dataTransfer: dragged, bubbles: true, cancelable: true }));
}"""


@pytest.fixture
def full(browser: Browser) -> Iterator[Served]:
    with collector() as running:
        for number in range(3):
            for segment in shop_and_stock(number, error=number == 1):
                running.store.add(segment)
        running.store.add(line(1, "ERROR", "trace-1"))
        yield Served(running)


def saved(page: Page, folder: Path) -> Path:
    with page.expect_download() as download:
        page.get_by_role("link", name=re.compile("^Export")).click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def test_a_trace_leaves_and_comes_back_by_choice(
    full: Served, empty: Served, open_tab: Callable[..., Tab], tmp_path: Path
) -> None:
    page = open_tab(full).open("#/traces/trace-1")
    path = saved(page, tmp_path)
    assert path.name == "trace-trace-1.json"
    assert len(load_traces(path).spans) == 4
    page = open_tab(empty).open()
    expect(page.get_by_role("heading", name="Nothing has arrived yet")).to_be_visible()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Import traces from a file").click()
    chooser.value.set_files(path)
    expect(page).to_have_url(f"{empty.url}/#/traces/trace-1")
    expect(page.locator(".span-row")).to_have_count(4)
    expect(page.get_by_role("tab", name="Logs 1")).to_be_visible()
    found = page.locator(".imported")
    expect(found).to_contain_text("trace-trace-1.json 1 trace, 2 new segments, 1 new log line.")
    found.get_by_role("button", name="Close what was imported").click()
    expect(found).to_be_hidden()


def test_those_that_match_leave_and_come_back_by_drop(
    full: Served, empty: Served, open_tab: Callable[..., Tab], tmp_path: Path
) -> None:
    page = open_tab(full).open("#/traces?service=stock")
    expect(page.locator(".trace-row")).to_have_count(3)
    path = saved(page, tmp_path)
    assert sorted(load_traces(path).trace_ids) == ["trace-0", "trace-1", "trace-2"]
    page = open_tab(empty, width=390).open("#/traces")
    page.evaluate(DROP, [path.name, path.read_text()])
    expect(page.locator(".imported")).to_contain_text("3 traces, 6 new segments, 1 new log line")
    expect(page.locator(".trace-row")).to_have_count(3)
    expect(page.locator(".drop-here")).to_have_count(0)
    page.evaluate(DROP, [path.name, path.read_text()])
    expect(page.locator(".imported")).to_contain_text("0 new segments, 0 new log lines; 6 segments had been here")
    expect(page.locator(".trace-row")).to_have_count(3)


def test_a_file_of_something_else_is_refused_in_words(full: Served, open_tab: Callable[..., Tab]) -> None:
    tab = open_tab(full)
    tab.tolerate("400")
    page = tab.open("#/traces")
    expect(page.locator(".trace-row")).to_have_count(3)
    page.evaluate(DROP, ["other.json", json.dumps({"log": {"version": "1.2"}})])
    expect(page.locator(".imported")).to_contain_text("other.json was not imported: this is no file of traces")
    expect(page).to_have_url(f"{full.url}/#/traces")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_trace_is_saved_as_one_page_that_needs_no_collector(
    browser: Browser, open_tab: Callable[..., Tab], crowded: StandIn, tmp_path: Path, scheme: str
) -> None:
    row = crowded.ask("traces", q="/search", limit=1)["traces"][0]
    trace = crowded.ask(f"traces/{row['trace_id']}")
    page = open_tab(crowded).open(f"#/traces/{row['trace_id']}")
    expect(page.get_by_role("list", name="Findings")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="HTML").click()
    assert download.value.suggested_filename == f"trace-{row['trace_id'][:40]}.html"
    file = tmp_path / "trace.html"
    download.value.save_as(file)
    context = browser.new_context(offline=True, color_scheme=scheme, viewport={"width": 1280, "height": 800})  # type: ignore[arg-type]
    asked: list[str] = []
    complaints: list[str] = []
    saved = context.new_page()
    saved.on("request", lambda request: asked.append(request.url))
    saved.on("console", lambda message: complaints.append(message.text))
    saved.goto(file.as_uri())
    expect(saved.locator("summary")).to_have_count(len(trace["spans"]))
    assert saved.locator("summary b").all_inner_texts() == [each["operation"] for each in trace["spans"]]
    expect(saved.locator(".sentences")).to_be_visible()
    assert [each["text"] in saved.locator("main").inner_text() for each in trace["logs"]] == [True] * len(trace["logs"])
    assert saved.locator("script, link, [src], [href]").count() == 0
    hostile = saved.locator("summary", has_text=HOSTILE)
    expect(hostile).to_be_visible()
    saved.locator("summary", has_text="PostgreSQL/SELECT").click()
    expect(saved.locator("dl").filter(visible=True)).to_contain_text("'<b>&amp;'")
    assert faint_texts(saved) == []
    assert saved.evaluate("document.documentElement.scrollWidth") <= 1280
    assert (asked, complaints) == ([file.as_uri()], [])
    context.close()
