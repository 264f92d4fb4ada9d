"""Where the records go: the processes that play OAP over gRPC and over HTTP."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from kit.real.ports import is_listening
from swagent.signals import Signal

from .applications import ROOT
from .cells import Cell
from .evidence import read_names
from .orphans import PARENT

_START_SECONDS = 60.0


class Sink(Protocol):
    """The sink that all applications of one transport report to. Its methods may block for seconds."""

    def start(self) -> None:
        """Serve; what came before is remembered."""

    def kill(self) -> None:
        """As `kill -9`."""

    def freeze(self) -> None:
        """The kernel takes connections and bytes, and no program reads them."""

    def thaw(self) -> None:
        """Go on."""

    def names(self, cell: Cell) -> Mapping[Signal, Counter[str]]:
        """The names of the records that came from one cell, each as often as it came."""
        ...

    def close(self) -> None:
        """Nothing of it is left."""


class Collectors:
    """The collectors of one transport: a port and a file for each cell, in one process."""

    def __init__(self, transport: str, ports: Mapping[Cell, int], folder: Path, *, has_profiles: bool) -> None:
        self._files = {cell: folder / f"{cell}.seen" for cell in ports}
        self._ports = ports
        protocol = "profiles" if transport == "grpc" and has_profiles else transport
        self._command = [sys.executable, "-m", "stress.soak.sink_process", protocol]
        self._command += [f"{port}:{self._files[cell]}" for cell, port in ports.items()]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        process = self._process = subprocess.Popen(
            self._command, cwd=ROOT, env={**os.environ, PARENT: str(os.getpid())}, start_new_session=True
        )
        deadline = time.monotonic() + _START_SECONDS
        while missing := [port for port in self._ports.values() if not is_listening(port)]:
            if process.poll() is not None or time.monotonic() > deadline:
                command = " ".join(self._command)
                raise RuntimeError(f"nothing listens at {missing}, the status is {process.returncode}: {command}")
            time.sleep(0.05)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def freeze(self) -> None:
        self._send(signal.SIGSTOP)

    def thaw(self) -> None:
        self._send(signal.SIGCONT)

    def _send(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)

    def names(self, cell: Cell) -> Mapping[Signal, Counter[str]]:
        return read_names(self._files[cell])

    def close(self) -> None:
        self.kill()
