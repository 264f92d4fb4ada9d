"""Takes the pictures of the page that the docs show, from the demo, into docs/images.

    python docs/screenshots.py

It starts the demo, waits until there is something to see, and ends it. It needs Chromium and the package playwright.
"""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from playwright.sync_api import Browser, sync_playwright

HERE = Path(__file__).parent
IMAGES = HERE / "images"
CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
TRACES = 400  # until then it is too empty
LARGEST = 200_000  # bytes of a picture
DEADLINE = 300  # seconds


@contextmanager
def demo() -> Iterator[str]:
    """The demo, as in a terminal, in which alone it goes on; its address."""
    above, below = pty.openpty()
    process = subprocess.Popen([sys.executable, HERE / "example" / "demo.py"], stdout=below, stderr=below)
    os.close(below)
    try:
        text = ""
        while (found := re.search(r"http://127\.0\.0\.1:\d+", text)) is None:
            text += os.read(above, 4096).decode(errors="replace")
        reader = threading.Thread(target=drain, args=(above,))
        reader.start()
        yield found[0]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()
    reader.join()
    os.close(above)


def drain(terminal: int) -> None:
    """Read what the demo prints, which else would hold it up, until it has ended."""
    with suppress(OSError):  # that is how Linux says that the other end is closed
        while os.read(terminal, 4096):
            pass


def ask(url: str) -> Any:
    with urlopen(url) as answer:  # noqa: S310  (the demo's own)
        return json.load(answer)


def find_victim(address: str) -> str:
    """A trace whose culprit is another request that held the event loop."""
    deadline = time.monotonic() + DEADLINE
    while time.monotonic() < deadline:
        time.sleep(5)  # the demo's customers need their time
        listed = ask(f"{address}/api/traces?q=/orders&limit=200")
        if listed["total"] < TRACES:
            continue
        for trace in listed["traces"]:
            found = ask(f"{address}/api/traces/{trace['trace_id']}/findings")
            if found["culprit"] and found["culprit"]["kind"] == "blocked_loop" and trace["errors"] == 0:
                return str(trace["trace_id"])
    raise SystemExit("No request has waited for the loop, or the demo has no traffic")


def take(browser: Browser, url: str, name: str, *, dark: bool = False, height: int = 700) -> None:
    """One picture; says how large it is."""
    page = browser.new_page(viewport={"width": 1280, "height": height}, color_scheme="dark" if dark else "light")
    page.goto(url)
    page.wait_for_load_state("load")
    page.wait_for_timeout(3000)  # what comes later than the page is there, and charts are drawn
    page.screenshot(path=IMAGES / name)
    page.close()
    size = (IMAGES / name).stat().st_size
    print(f"{name}: {size // 1000} kB")
    if size > LARGEST:
        raise SystemExit(f"{name} is too large")


def main() -> None:
    path = next(filter(None, map(shutil.which, CHROMIUMS)), None)
    with demo() as address, sync_playwright() as playwright:
        victim = find_victim(address)
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        take(browser, f"{address}/#/findings", "findings.png", height=420)
        take(browser, f"{address}/#/traces", "traces.png", height=800)
        take(browser, f"{address}/#/traces/{victim}", "waterfall.png")
        take(browser, f"{address}/#/traces/{victim}", "waterfall-dark.png", dark=True)
        take(browser, f"{address}/#/map", "map.png", height=560)
        browser.close()


if __name__ == "__main__":
    main()
