"""The rows of the table: what is started, and what is read off it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from kit.real.ports import free_ports

from ..compare.sinks import Collector
from ..cost.implementation import build_accelerator
from ..environments import without_settings
from .peers import Peer
from .process import Server, StartError, run_to_end, running

SERVED = Path(__file__).with_name("served")
UVICORN = ("uvicorn", "hello:app", "--log-level", "warning", "--no-access-log", "--port", "{port}")
TRIO = ("hypercorn", "hello:app", "-k", "trio", "-w", "0", "--log-level", "warning", "--bind", "127.0.0.1:{port}")
"""How a server is started, on asyncio or uvloop and on trio."""
REQUESTS = 3_000


@dataclass(frozen=True)
class Waits:
    """Seconds: before an idle process is looked at, and how long for."""

    before: float
    idle: float


class Starts:
    """Starts processes under one peer after the other; the collectors live as long as the stack.

    :ivar interpreter: the Python that they run on
    """

    def __init__(self, stack: ExitStack, waits: Waits, interpreter: str) -> None:
        self.interpreter = interpreter
        self._stack = stack
        self._waits = waits
        self._sinks: dict[str, Collector] = {}
        self._folders: dict[str, Path] = {}
        self.upstream = Collector("http", stack).address

    def script(self, peer: Peer, arguments: Sequence[str]) -> dict[str, float]:
        """Processor time of a script: seconds."""
        return {"seconds": run_to_end(self.command(peer, arguments), self.environ(peer), SERVED)}

    def fetch(self, peer: Peer) -> dict[str, float]:
        """Processor time of a script with one request.

        :raises StartError: the agent delivered nothing of it
        """
        sink = self._sink(peer)
        before = sink.count() if sink is not None else None
        found = self.script(peer, ("python", "fetch.py", f"http://{self.upstream}/"))
        if sink is not None and before is not None and not (sink.count() - before).segments:
            raise StartError(f"{peer.name} did not deliver the script's request")
        return found

    def first_answer(self, peer: Peer, serve: Sequence[str]) -> dict[str, float]:
        """Processor time of a server until it has answered once: seconds.

        :param serve: how it is started, with a place for the port
        """
        with self._serve(peer, serve) as server:
            return {"seconds": server.processor_time()}

    def rest(self, peer: Peer) -> dict[str, float]:
        """Memory of a server at rest and after load, and its work between requests."""
        with self._serve(peer, UVICORN) as server:
            # nothing tells from outside that the work after the start is done
            time.sleep(self._waits.before)
            memory, began = server.own_memory(), time.monotonic()
            spent, woken = server.thread_time(), server.wake_ups()
            time.sleep(self._waits.idle)
            spent, woken = server.thread_time() - spent, server.wake_ups() - woken
            minutes = (time.monotonic() - began) / 60
            for _ in range(REQUESTS):
                server.ask()
            return {
                "memory": memory, "memory after load": server.own_memory(),
                "ms a minute": 1000 * spent / minutes, "wake-ups a second": woken / minutes / 60,
            }  # fmt: skip

    @contextmanager
    def _serve(self, peer: Peer, serve: Sequence[str]) -> Iterator[Server]:
        (port,) = free_ports(1)
        command = self.command(peer, at_port(serve, port))
        with running(command, self.environ(peer), SERVED, port) as server:
            yield server

    def command(self, peer: Peer, arguments: Sequence[str]) -> list[str]:
        """How the peer starts a program of its environment, which is made first where it is not there yet.

        :param arguments: the program by its name and its arguments
        """
        return peer.command(self._prepare(peer), arguments)

    def _prepare(self, peer: Peer) -> Path:
        if peer.name not in self._folders:
            self._folders[peer.name] = peer.prepare(self.interpreter)
        return self._folders[peer.name]

    def _sink(self, peer: Peer) -> Collector | None:
        if peer.sink and peer.sink not in self._sinks:
            self._sinks[peer.sink] = Collector(peer.sink, self._stack)
        return self._sinks.get(peer.sink)

    def environ(self, peer: Peer) -> Mapping[str, str]:
        """The variables of a process of this peer."""
        folder = self._prepare(peer)
        kept = without_settings()
        if peer.is_accelerated:
            kept["PYTHONPATH"] = str(build_accelerator(folder / "python"))
        sink = self._sink(peer)
        path = f"{folder}{os.pathsep}{kept.get('PATH', '')}"
        return {**kept, **peer.settings(sink.address if sink is not None else ""), "PATH": path}


def at_port(serve: Sequence[str], port: int) -> list[str]:
    """A server's arguments, with the port in its place."""
    return [each.format(port=port) for each in serve]


AT_REST = "a server at rest"
Measure = Callable[[Starts, Peer], Mapping[str, float]]
ROWS: Mapping[str, Measure] = {
    "`python -c pass`": lambda starts, peer: starts.script(peer, ("python", "-c", "pass")),
    "`python -c 'import fastapi'`": lambda starts, peer: starts.script(peer, ("python", "-c", "import fastapi")),
    "a script with one `requests.get`": Starts.fetch,
    "FastAPI under uvicorn, first answer": lambda starts, peer: starts.first_answer(peer, UVICORN),
    "the same with `--loop asyncio`": lambda starts, peer: starts.first_answer(peer, (*UVICORN, "--loop", "asyncio")),
    "FastAPI under Hypercorn on trio, first answer": lambda starts, peer: starts.first_answer(peer, TRIO),
    "FastAPI under uvicorn with `--workers 4`": lambda starts, peer: starts.first_answer(
        peer, (*UVICORN, "--workers", "4")
    ),
    AT_REST: Starts.rest,
}
COUNTED = tuple(ROWS)[:6]
"""The rows whose instructions can be counted: those of a start, and not those of a rest."""
GUARDED = COUNTED[:4]
"""Those that CI counts."""
UNITS = {
    "instructions": "millions of instructions",
    "seconds": "s of processor time", "memory": "MiB of its own", "memory after load": "MiB of its own after load",
    "ms a minute": "ms of processor time a minute", "wake-ups a second": "wake-ups a second",
}  # fmt: skip
