"""The demo: a collector with its page, two FastAPI services that call each other, and requests.

    shop --HTTP, sw8--> stock            both --gRPC--> the collector in this process

In a terminal it goes on until Ctrl-C, for the page in the browser. With `--once`, in CI, and where the output is no
terminal it sends a few orders, prints what they left (traces, the log lines that belong to them, meters) and ends by
itself. Both services are drained either way. Run it by `make demo`, or by `python docs/example/demo.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx

from swagent.collector.server import Collector
from swagent.collector.store.store import Store
from swagent.collector.view import render
from traffic import send_traffic

HERE = Path(__file__).parent
PAGE_PORT = 12880
# two spans' segments in two services for each order, and the stock service fails over the umbrella
ORDERS = ("lamp", "chair", "umbrella")
# the shop warns that chairs are few, and complains about the umbrella
LOG_LINES = 2
METERS = ("shop_orders", "instance_pvm_process_cpu_utilization", "instance_pvm_thread_active_count")
# so that the charts and the ledgers do not keep anybody waiting; what the environment says goes first
QUICK = {"SW_AGENT_METER_REPORTER_PERIOD": "2"}
# seconds: twice what an agent takes at most
PATIENCE = 15


async def main(once: bool) -> int:
    """Show it all; returns the exit status: with `once` 0 only when every trace arrived complete.

    :param once: end by itself, rather than at Ctrl-C
    """
    stopping = _stop_signal()
    shop, stock = _free_port(), _free_port()
    async with _collector() as collector:
        hint = " (it is there for a few seconds; without --once, in a terminal, it stays)" if once else ""
        print(f"Open the page: http://{collector.page_address}/{hint}\n", flush=True)
        addresses = {"collector": collector.address, "shop": f"http://127.0.0.1:{shop}", "stock": f"127.0.0.1:{stock}"}
        print("".join(f"{name:<11} {address}\n" for name, address in addresses.items()))
        environ = {"SW_AGENT_COLLECTOR_BACKEND_SERVICES": collector.address, "STOCK": addresses["stock"]}
        async with _service("shop", shop, environ), _service("stock", stock, environ):
            await _until(stopping, _visit(collector.store, shop, stock, once))
            print("Stopping both services; their ledgers:", flush=True)
        if once:
            _show(collector.store)
        else:
            print(f"\ncollector: received {collector.store.statistics()}")
        return 0 if not once or _is_complete(collector.store) else 1


async def _visit(store: Store, shop: int, stock: int, once: bool) -> None:
    await asyncio.gather(_wait_listening(shop), _wait_listening(stock))
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{shop}", trust_env=False, timeout=30) as client:
        await _order(client)
        await store.wait_for(_is_complete, timeout=10)
        if once:
            return
        print("Customers keep coming: look at the page. Ctrl-C ends it.\n", flush=True)
        await send_traffic(client)


def _is_complete(store: Store) -> bool:
    return len(store.segments) == 2 * len(ORDERS) and len(store.logs) >= LOG_LINES


async def _order(client: httpx.AsyncClient) -> None:
    for item in ORDERS:
        answer = await client.get(f"/orders/{item}")
        print(f"GET /orders/{item:<9} {answer.status_code} {answer.text}")
    print()


def _show(store: Store) -> None:
    print()
    for trace_id in store.trace_ids:
        print(render(trace_id, store.trace(trace_id)))
        for line in store.logs:
            if line.trace_id == trace_id:
                print(f"    log   {line.service:<6} {line.content}")
        print()
    for meter in sorted(store.meters, key=lambda meter: (meter.service, meter.name)):
        if meter.name in METERS:
            print(f"    meter {meter.service:<6} {meter.name} = {meter.value:.6g}")


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


@asynccontextmanager
async def _service(name: str, port: int, environ: Mapping[str, str]) -> AsyncIterator[None]:
    """Run one service under uvicorn for as long as the block lasts, and let it drain."""
    command = [sys.executable, "-m", "uvicorn", f"{name}:app", "--port", str(port), "--log-level", "critical"]
    environ = {**QUICK, **os.environ, **environ, "SW_AGENT_NAME": name}
    # in a session of its own: a terminal sends Ctrl-C to all of its processes, and the service has to outlive that
    process = subprocess.Popen(command, cwd=HERE, env=environ, start_new_session=True)  # noqa: ASYNC220  (takes no time)
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        # in a thread: the collector in this loop has to take what the service still tells it
        try:
            await asyncio.to_thread(process.wait, PATIENCE)
        finally:
            process.kill()  # harmless where it has ended


def _stop_signal() -> asyncio.Event:
    """What the first Ctrl-C sets; a second one interrupts."""
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
        if task.done():
            task.result()
    finally:
        task.cancel()
        stop.cancel()
        await asyncio.wait((task, stop))


async def _wait_listening(port: int) -> None:
    for _ in range(300):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.05)  # another process's start has no event to wait for
        else:
            writer.close()
            await writer.wait_closed()
            return
    raise TimeoutError(f"nothing listens on port {port} after 15 s")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--once", action="store_true", help="end by itself, as in CI")
    return parser.parse_args()


if __name__ == "__main__":
    by_itself = _options().once or bool(os.environ.get("CI")) or not sys.stdout.isatty()
    with suppress(KeyboardInterrupt):
        sys.exit(asyncio.run(main(by_itself)))
    sys.exit(128 + signal.SIGINT)
