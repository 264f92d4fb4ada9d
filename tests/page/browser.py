"""A headless Chromium, and a tab that writes down what it should not have done."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, Playwright

WHOLE = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""The browser as people have it."""
SHELL = ("chromium-headless-shell",)
"""The part of it that loads and shows pages. A test takes half as long with it."""
# no sandbox: CI is root; the rest keeps the browser from calling its maker
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
]  # fmt: skip
WATCH = """
window.__violations = [];
document.addEventListener('securitypolicyviolation', event => window.__violations.push(
  `${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));
window.__longTasks = [];
new PerformanceObserver(list => window.__longTasks.push(...list.getEntries().map(each => each.duration)))
  .observe({ type: 'longtask' });
new MutationObserver((_, observer) => {
  if (!document.querySelector('.trace-row')) return;
  window.__firstRow = performance.now();
  observer.disconnect();
}).observe(document, { childList: true, subtree: true });
"""
NOTE = """text => {
  window.__noted = false;
  new MutationObserver((_, observer) => {
    if (!document.body.textContent.includes(text)) return;
    window.__noted = true;
    observer.disconnect();
  }).observe(document.body, { childList: true, characterData: true, subtree: true });
}"""
TIMEOUT_MS = 20_000  # of waiting for a condition, on a machine under load


@contextmanager
def chromium(playwright: Playwright, *names: str) -> Iterator[Browser]:
    """The browser, by the first of these names that is there. Skips where there is none, except in CI, where that is a
    failure."""
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        reason = f"none of {', '.join(names)} is on the path: apt-get install chromium"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
    try:
        yield browser
    finally:
        browser.close()


@contextmanager
def appearing(page: Page, text: str) -> Iterator[None]:
    """Inside the block a text has to appear, if only for a moment: looking now and then might miss it."""
    page.evaluate(NOTE, text)
    yield
    page.wait_for_function("() => window.__noted")


class Tab:
    """One page of the application."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.complaints: list[str] = []
        self.hosts: set[str] = set()
        self.tolerated: tuple[str, ...] = ()
        page.set_default_timeout(TIMEOUT_MS)
        page.add_init_script(WATCH)
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.complaints.append(f"exception: {error}"))
        page.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))
        page.on("dialog", self._dismiss)

    def open(self, path: str = "#/traces") -> Page:
        """Load the page at an address of its own, such as `#/logs`."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.url}/{path}")
        return self.page

    def tolerate(self, *texts: str) -> None:
        """Pass over texts that the browser itself writes to the console when a request gets no answer, or a bad one."""
        self.tolerated = texts

    def verify(self) -> None:
        """Nothing was logged, nothing left the machine, nothing broke the policy."""
        violations: list[str] = self.page.evaluate("window.__violations ?? []")
        assert violations == [], violations
        assert self.complaints == [], self.complaints
        assert self.hosts == {urlsplit(self.url).netloc}, self.hosts

    def _dismiss(self, dialog: Dialog) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not any(each in message.text for each in self.tolerated):
            self.complaints.append(f"{message.type}: {message.text}")
