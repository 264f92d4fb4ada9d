"""Two services whose spans are made by hand, in `by_hand`, each under a real server in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import anyio

from kit.real.oap import Oap
from kit.real.ports import free_ports, is_listening

HERE = Path(__file__).parent
APPLICATIONS = HERE / "by_hand"

# how each server gets the application and the port to serve, and on which event loop
SERVERS: Mapping[str, tuple[str, ...]] = {
    "uvicorn-asyncio": ("uvicorn", "{app}", "--port", "{port}", "--loop", "asyncio"),
    "uvicorn-uvloop": ("uvicorn", "{app}", "--port", "{port}", "--loop", "uvloop"),
    "hypercorn-trio": ("hypercorn", "{app}", "--bind", "127.0.0.1:{port}", "--worker-class", "trio"),
}


def loop_of(server: str) -> str:
    """The event loop under a server of `SERVERS`, by its name in the fault matrix."""
    return server.rpartition("-")[2]


@dataclass(frozen=True)
class Pair:
    """The two running services, under names that no other test uses."""

    shop: str
    stock: str
    url: str


@contextmanager
def serve_pair(server: str, environ: Mapping[str, str], suffix: str) -> Iterator[Pair]:
    """Run both for as long as the block lasts; leaving it lets them drain.

    :param environ: variables for both, such as where the collector is
    """
    shop_port, stock_port = free_ports(2)
    pair = Pair(f"shop-{suffix}", f"stock-{suffix}", f"http://127.0.0.1:{shop_port}")
    # on a busy machine any loop is held now and then, which would be recorded as an event
    environ = {"SW_AGENT_LOOP_BLOCK_LIMIT": "0", **environ, "STOCK": f"127.0.0.1:{stock_port}"}
    shop, stock = ({**environ, "SW_AGENT_NAME": name} for name in (pair.shop, pair.stock))
    with _serve(server, "shop", shop_port, shop), _serve(server, "stock", stock_port, stock):
        yield pair


async def wait_served(url: str, timeout: float = 90.0) -> None:
    """Wait until something listens there."""
    port = int(url.rpartition(":")[2])
    with anyio.fail_after(timeout):
        while not is_listening(port):  # noqa: ASYNC110  (another process's start has no event to wait for)
            await anyio.sleep(0.05)


@contextmanager
def _serve(server: str, app: str, port: int, environ: Mapping[str, str]) -> Iterator[None]:
    arguments = [part.format(app=f"{app}:app", port=port) for part in SERVERS[server]]
    command = [sys.executable, "-m", *arguments]
    with running(command, APPLICATIONS, {**environ, "PYTHONPATH": str(APPLICATIONS)}):
        yield


@contextmanager
def serving(service: str, oap: Oap, *command: str, errors: IO[str] | None = None, **environ: str) -> Iterator[str]:
    """An application of this folder that reports to an OAP, for as long as the block lasts; gives its host and port.

    :param command: after `python -m`, with `{port}` in it
    """
    (port,) = free_ports(1)
    own = {"SW_AGENT_NAME": service, "SW_AGENT_COLLECTOR_BACKEND_SERVICES": oap.grpc_address, "PYTHONPATH": str(HERE)}
    arguments = [sys.executable, "-m", *(part.format(port=port, python=sys.executable) for part in command)]
    with running(arguments, HERE, {**own, **environ}, errors=errors):
        yield f"127.0.0.1:{port}"


@contextmanager
def running(
    command: Sequence[str],
    folder: Path,
    environ: Mapping[str, str],
    *,
    patience: float = 30,
    errors: IO[str] | None = None,
) -> Iterator[None]:
    """A process for as long as the block lasts, which ends well on SIGTERM.

    :param environ: variables beside ours
    :param patience: the seconds that it may take to end
    :param errors: where its stderr goes; ours, if left out
    """
    process = subprocess.Popen(command, cwd=folder, env={**os.environ, **environ}, stderr=errors)
    try:
        yield
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=patience) in (0, -signal.SIGTERM), f"{command} did not end cleanly"
    finally:
        process.kill()
        process.wait()
