"""How soon the page shows its first row with so many traces and live traffic: `python -m stress.first_row`.

The collector is a process of its own. Chromium opens the page at full speed, then at a quarter of it. It needs
Chromium on the path, and the package playwright.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import time
from contextlib import suppress

from grpclib.client import Channel
from playwright.async_api import Browser, async_playwright

from stress.intake import BATCH, send
from swagent.collector.intake.codec import RawCodec
from swagent_proto import messages as wire

VIEWS = {
    "findings": ".finding-rest",
    "traces": ".trace-row",
    "services": ".table tbody tr",
    "map": ".node",
    "runtime": ".view.runtime",
}
SERVICES = 14
WATCH = """
new MutationObserver((_, observer) => {
  if (!document.querySelector(window.__wanted)) return;
  window.__firstRow = performance.now();
  observer.disconnect();
}).observe(document, { childList: true, subtree: true });
"""


def trace(number: int, now: int) -> list[bytes]:
    """A request that passes through three of the services."""
    name = f"{number:024x}.{number}"
    segments: list[bytes] = []
    parent: wire.SegmentReference | None = None
    for step in range(3):
        service = f"service-{(number + step) % SERVICES}"
        start, end = now + step, now + 30 + number % 400 - step
        references = [parent] if parent else []
        entry, exit_ = wire.SpanType(0), wire.SpanType(1)
        spans = [
            wire.SpanObject(1, 0, start + 1, end - 1, [], f"/next/{step}", f"service-{step}:80", exit_),
            wire.SpanObject(0, -1, start, end, references, f"GET:/orders/{number % 40}", "", entry),
        ]
        segments.append(bytes(wire.SegmentObject(name, f"{name}.{step}", spans, service, f"{service}@1")))
        parent = wire.SegmentReference(
            wire.RefType(0), name, f"{name}.{step}", 1, service, f"{service}@1", f"GET:/orders/{number % 40}", "next:80"
        )
    return segments


async def _fill(channel: Channel, traces: int) -> None:
    now = int(time.time() * 1000) - traces * 20
    waiting: list[bytes] = []
    for number in range(traces):
        waiting += trace(number, now + number * 20)
        if len(waiting) >= BATCH:
            await send(channel, waiting)
            waiting = []
    await send(channel, waiting)


async def _go_on(channel: Channel, first: int, a_second: int) -> None:
    number = first
    while True:
        now = int(time.time() * 1000)
        await send(channel, [each for step in range(a_second // 10) for each in trace(number + step, now)])
        number += a_second // 10
        await asyncio.sleep(0.1)


async def _look(browser: Browser, url: str, view: str, slowdown: int) -> float:
    context = await browser.new_context(viewport={"width": 1440, "height": 900})
    try:
        page = await context.new_page()
        session = await context.new_cdp_session(page)
        await session.send("Emulation.setCPUThrottlingRate", {"rate": slowdown})
        await page.add_init_script(f"window.__wanted = '{VIEWS[view]}';" + WATCH)
        await page.goto(f"{url}/#/{view}")
        await page.locator(VIEWS[view]).first.wait_for(timeout=60_000)
        found: float = await page.evaluate("window.__firstRow")
        return found
    finally:
        await context.close()


async def _measure(args: argparse.Namespace) -> None:
    # three segments a trace, and room for those that come meanwhile
    most = str(4 * args.traces + 40_000)
    command = [sys.executable, "-m", "swagent", "collector", "--quiet", "--max-segments", most]
    command += ["--port", "0", "--http-port", "0", "--page-port", "0"]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    try:
        address = (await process.stdout.readline()).decode().split()[-1]
        await process.stdout.readline()
        url = (await process.stdout.readline()).decode().strip().rstrip("/")
        host, port = address.rsplit(":", 1)
        async with Channel(host, int(port), codec=RawCodec()) as channel, async_playwright() as playwright:
            await _fill(channel, args.traces)
            live = asyncio.create_task(_go_on(channel, args.traces, args.live))
            path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
            browser = await playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
            for view in VIEWS:
                for slowdown in (1, 4):
                    took = [await _look(browser, url, view, slowdown) for _ in range(args.rounds)]
                    text = ", ".join(f"{each:,.0f}" for each in took)
                    print(f"{view}, at 1/{slowdown} of the speed: first row after {text} ms", flush=True)
            await browser.close()
            live.cancel()
            with suppress(asyncio.CancelledError):
                await live
    finally:
        process.terminate()
        await process.wait()


def main() -> None:
    """Measure, and print a line for each view and speed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--traces", type=int, default=20_000)
    parser.add_argument("--live", type=int, default=50, help="new traces a second")
    parser.add_argument("--rounds", type=int, default=3)
    asyncio.run(_measure(parser.parse_args()))


if __name__ == "__main__":
    main()
