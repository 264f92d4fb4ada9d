"""The demo: a collector, two FastAPI services that call each other, a few requests, and what they left: traces, the log
lines that belong to them, and meters.

    shop --HTTP, sw8--> stock            both --gRPC--> the collector in this process

Ends by itself, with both services drained. Run it by `make demo`, or by `python docs/example/demo.py`.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from swagent.collector.server import Collector
from swagent.collector.store import Store
from swagent.collector.view import render

HERE = Path(__file__).parent
# two spans' segments in two services for each order, and the stock service fails over the umbrella
ORDERS = ("lamp", "chair", "umbrella")
# the shop warns that chairs are few, and both complain about the umbrella
LOG_LINES = 2
METERS = ("shop_orders", "instance_pvm_process_cpu_utilization", "instance_pvm_thread_active_count")


async def main() -> int:
    """Show it all; returns the exit status: 0 only when every trace arrived complete."""
    shop, stock = _free_port(), _free_port()
    async with Collector() as collector:
        print(
            f"collector   {collector.address}\nshop        http://127.0.0.1:{shop}\nstock       http://127.0.0.1:{stock}\n"
        )
        environ = {"SW_AGENT_COLLECTOR_BACKEND_SERVICES": collector.address, "STOCK": f"127.0.0.1:{stock}"}
        async with _service("shop", shop, environ), _service("stock", stock, environ):
            await asyncio.gather(_wait_listening(shop), _wait_listening(stock))
            await _order(shop)
            await collector.store.wait_for(_is_complete, timeout=10)
            print("Stopping both services; their ledgers:", flush=True)
        _show(collector.store)
        return 0 if _is_complete(collector.store) else 1


def _is_complete(store: Store) -> bool:
    return len(store.segments) == 2 * len(ORDERS) and len(store.logs) >= LOG_LINES


async def _order(port: int) -> None:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
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
async def _service(name: str, port: int, environ: Mapping[str, str]) -> AsyncIterator[None]:
    """Run one service under uvicorn for as long as the block lasts, and let it drain."""
    command = [sys.executable, "-m", "uvicorn", f"{name}:app", "--port", str(port), "--log-level", "critical"]
    environ = {**os.environ, **environ, "SW_AGENT_NAME": name}
    process = subprocess.Popen(command, cwd=HERE, env=environ)  # noqa: ASYNC220  (starting takes no time)
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        # in a thread: the collector in this loop has to take what the service still tells it
        await asyncio.to_thread(process.wait, 15)


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


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
