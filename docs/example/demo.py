"""The demo: a collector with its page, three services that call each other, and requests.

    shop --HTTP--> stock --HTTP--> warehouse       all three --gRPC--> the collector in this process

The services have not one line of swagent's: `swagent run` starts them. In a terminal the demo goes on until Ctrl-C, for
the page in the browser. With `--once`, in CI, and where the output is no terminal it sends a few requests, prints what
they left (traces, the log lines that belong to them, meters) and ends by itself. The services are drained either way.
Run it by `make demo`, or by `python docs/example/demo.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import os
import signal
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from launching import Service, find_services, running, wait_listening
from swagent.collector.api.tree import join, walk
from swagent.collector.server import Collector
from swagent.collector.store.store import Store
from swagent.collector.store.trace_records import Segment
from swagent.collector.view import render
from traffic import send_traffic

PAGE_PORT = 12880
# the spans of each request's trace: a sofa has to come from the warehouse, umbrellas fail, the report holds the loop
REQUESTS = {"/orders/lamp": 8, "/orders/chair": 8, "/orders/sofa": 10, "/orders/umbrella": 8, "/report": 2}
# the shop warns that chairs and sofas are few, the stock that two shelves are empty; the shop complains about umbrellas
LOG_LINES = 5
METERS = ("instance_pvm_process_cpu_utilization", "instance_pvm_thread_active_count")


async def main(once: bool) -> int:
    """Show it all; returns the exit status: with `once` 0 only when every trace arrived complete.

    :param once: end by itself, rather than at Ctrl-C
    """
    stopping = _stop_signal()
    services = find_services()
    async with _collector() as collector:
        hint = " (it is there for a few seconds; without --once, in a terminal, it stays)" if once else ""
        print(f"Open the page: http://{collector.page_address}/{hint}\n", flush=True)
        addresses = {"collector": collector.address, **{service.name: service.address for service in services}}
        print("".join(f"{name:<11} {address}\n" for name, address in addresses.items()), flush=True)
        with TemporaryDirectory(prefix="swagent-demo-") as folder:
            async with running(services, collector.address, Path(folder)):
                await _until(stopping, _visit(collector.store, services, once))
                print("Stopping the services; their ledgers:", flush=True)
        if once:
            _show(collector.store)
        else:
            print(f"\ncollector: received {collector.store.statistics()}")
        return 0 if not once or _is_complete(collector.store) else 1


async def _visit(store: Store, services: tuple[Service, ...], once: bool) -> None:
    await wait_listening(services)
    shop = f"http://{services[0].address}"
    async with httpx.AsyncClient(base_url=shop, trust_env=False, timeout=30) as client:
        await _send_requests(client)
        with suppress(TimeoutError):  # what has come is shown; the exit status says whether that was all
            await store.wait_for(_is_complete, timeout=10)
        if once:
            return
        print("Customers keep coming: look at the page. Ctrl-C ends it.\n", flush=True)
        await send_traffic(client)


async def _send_requests(client: httpx.AsyncClient) -> None:
    for path in REQUESTS:
        answer = await client.get(path)
        print(f"GET {path:<16} {answer.status_code} {answer.text}")
    print(flush=True)


def _is_complete(store: Store) -> bool:
    """Each request's trace has all of its spans, and each span its parent."""
    found = [[node for node, _ in walk(join(segments))] for segments in _requests(store).values()]
    is_joined = not any(node.missing for nodes in found for node in nodes)
    return is_joined and sorted(map(len, found)) == sorted(REQUESTS.values()) and len(store.logs) >= LOG_LINES


def _requests(store: Store) -> dict[str, list[Segment]]:
    """The traces that begin with a request, by their ids: what services do before the first one has traces as well."""
    traces = {trace_id: store.trace(trace_id) for trace_id in store.trace_ids}
    return {each: segments for each, segments in traces.items() if join(segments)[0].span.kind == "Entry"}


def _show(store: Store) -> None:
    print()
    for trace_id, segments in _requests(store).items():
        print(render(trace_id, segments))
        for line in store.logs:
            if line.trace_id == trace_id:
                print(f"    log   {line.service:<9} {line.content}")
        print()
    for meter in sorted(store.meters, key=lambda meter: (meter.service, meter.name)):
        if meter.name in METERS:
            print(f"    meter {meter.service:<9} {meter.name} = {meter.value:.6g}")


@asynccontextmanager
async def _collector() -> AsyncIterator[Collector]:
    """The collector, with its page where people expect it, or on a free port."""
    collector = Collector(page_port=PAGE_PORT)
    try:
        await collector.start()
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        collector = Collector(page_port=0)
        await collector.start()
    try:
        yield collector
    finally:
        await collector.stop()


def _stop_signal() -> asyncio.Event:
    """The event that the first Ctrl-C sets; a second one interrupts."""
    loop, stopping = asyncio.get_running_loop(), asyncio.Event()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def stop() -> None:
        stopping.set()
        for number in numbers:
            loop.remove_signal_handler(number)

    for number in numbers:
        loop.add_signal_handler(number, stop)
    return stopping


async def _until(stopping: asyncio.Event, work: Coroutine[None, None, None]) -> None:
    """Do the work, but not beyond the stop."""
    task, stop = asyncio.ensure_future(work), asyncio.ensure_future(stopping.wait())
    try:
        await asyncio.wait((task, stop), return_when=asyncio.FIRST_COMPLETED)
        # Ctrl-C reaches a service too that has not left the terminal yet; that it has ended is no failure then
        if task.done() and not stopping.is_set():
            task.result()
    finally:
        task.cancel()
        stop.cancel()
        await asyncio.wait((task, stop))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--once", action="store_true", help="end by itself, as in CI")
    return parser.parse_args()


if __name__ == "__main__":
    by_itself = _options().once or bool(os.environ.get("CI")) or not sys.stdout.isatty()
    with suppress(KeyboardInterrupt):
        sys.exit(asyncio.run(main(by_itself)))
    sys.exit(128 + signal.SIGINT)
