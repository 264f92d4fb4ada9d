"""The demo: a collector with its page, services that call each other, and requests.

    shop --HTTP--> stock --HTTP--> warehouse       all three --gRPC--> the collector in this process
    shop --HTTP--> courier --HTTP--> stock         the courier --OTLP--> the same collector

Three services have not one line of swagent's: `swagent run` starts them. The courier is not ours: it has the SDK of
OpenTelemetry, and is in one trace with the shop and the stock. In a terminal the demo goes on until Ctrl-C, for the
page in the browser. With `--once`, in CI, and where the output is no terminal it sends a few requests, prints what they
left (traces, the log lines that belong to them, meters) and ends by itself. The services are drained either way. Run it
by `make demo`, or by `python docs/example/demo.py`.
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

from arrivals import DELIVERY, REQUESTS, delivery_trace, find_undrained, is_complete, show
from launching import NEIGHBOUR, Service, find_services, running, wait_listening
from swagent.collector.server import Collector
from traffic import send_traffic

PAGE_PORT = 12880


async def main(once: bool) -> int:
    """Show it all; returns the exit status: with `once` 0 only when every trace arrived complete, and every service has
    drained.

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
            async with running(services, collector, Path(folder)):
                await _until(stopping, _visit(collector, services, once))
                print("Stopping the services; their ledgers:", flush=True)
        if not once:
            print(f"\ncollector: received {collector.store.statistics()}")
            return 0
        show(collector.store)
        undrained = find_undrained(collector.store, [each.name for each in services if each.name != NEIGHBOUR])
        for name in undrained:
            print(f"{name}: NOT DRAINED, it has not reported its end")
        return 0 if is_complete(collector.store) and not undrained else 1


async def _visit(collector: Collector, services: tuple[Service, ...], once: bool) -> None:
    await wait_listening(services)
    shop = f"http://{services[0].address}"
    async with httpx.AsyncClient(base_url=shop, trust_env=False, timeout=30) as client:
        await _send_requests(client)
        with suppress(TimeoutError):  # what has come is shown; the exit status says whether that was all
            await collector.store.wait_for(is_complete, timeout=10)
        _say_joined(collector)
        if once:
            return
        print("Customers keep coming: look at the page. Ctrl-C ends it.\n", flush=True)
        await send_traffic(client)


async def _send_requests(client: httpx.AsyncClient) -> None:
    for path in REQUESTS:
        answer = await client.get(path)
        print(f"GET {path:<17} {answer.status_code} {answer.text}")
    print(flush=True)


def _say_joined(collector: Collector) -> None:
    trace_id = delivery_trace(collector.store)
    if trace_id:
        print(f"{NEIGHBOUR}: reports by OpenTelemetry's own SDK, over OTLP, and is in one trace with {_others()}:")
        print(f"  {trace_id} http://{collector.page_address}/#/traces/{trace_id}\n", flush=True)
    else:
        print(f"{NEIGHBOUR}: NOT JOINED, no trace has it together with {_others()}\n", flush=True)


def _others() -> str:
    return " and ".join(name for name in DELIVERY if name != NEIGHBOUR)


@asynccontextmanager
async def _collector() -> AsyncIterator[Collector]:
    """The collector, with its page where people expect it, or on a free port."""
    collector = Collector(page_port=PAGE_PORT, http_port=0)
    try:
        await collector.start()
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        collector = Collector(page_port=0, http_port=0)
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
