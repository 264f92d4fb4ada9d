"""The processes of the applications: start, freeze, stop."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from .cells import Cell
from .evidence import Ending
from .orphans import PARENT

ROOT = Path(__file__).parents[2]
_APP = "stress.soak.application:app"
# Idle connections are kept, or a server might hang up in the moment of a request, as after it was frozen.
_UVICORN = (
    "uvicorn",
    _APP,
    "--port",
    "{port}",
    "--loop",
    "{backend}",
    "--no-access-log",
    "--timeout-keep-alive",
    "600",
)
_HYPERCORN = ("hypercorn", _APP, "--bind", "127.0.0.1:{port}", "--worker-class", "{backend}", "--keep-alive", "600")
_LONGEST_STOP = 15.0


class Application:
    """One cell's application."""

    def __init__(self, cell: Cell, port: int, collector: str, folder: Path, environ: Mapping[str, str]) -> None:
        """:param collector: where it reports, or the broker that it enters by
        :param folder: for what it writes
        :param environ: variables of this run
        """
        self.cell = cell
        self.port = port
        self.confirmed = folder / f"{cell}.confirmed"
        self.samples = folder / f"{cell}.samples"
        self.output = folder / f"{cell}.output"
        self._collector = collector
        self._more = environ
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Returns before it serves."""
        server = _HYPERCORN if self.cell.backend == "trio" else _UVICORN
        arguments = [part.format(port=self.port, backend=self.cell.backend) for part in server]
        command = [sys.executable, "-W", "always::ResourceWarning", "-m", *arguments]
        with self.output.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=self._environ(),
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # hypercorn's worker is a child of the process that we know
            )

    def _environ(self) -> Mapping[str, str]:
        where = (
            "SW_KAFKA_BOOTSTRAP_SERVERS" if self.cell.transport == "kafka" else "SW_AGENT_COLLECTOR_BACKEND_SERVICES"
        )
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith("SW_")},
            where: self._collector,
            "SW_AGENT_PROTOCOL": self.cell.transport,
            "SW_AGENT_NAME": f"soak-{self.cell}",
            "SW_KAFKA_NAMESPACE": str(self.cell),
            PARENT: str(os.getpid()),
            "SOAK_CONFIRMED": str(self.confirmed),
            "SOAK_SAMPLES": str(self.samples),
            "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
            **self._more,
        }

    def freeze(self) -> None:
        """SIGSTOP."""
        os.killpg(self._running.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """SIGCONT."""
        os.killpg(self._running.pid, signal.SIGCONT)

    def ask_to_stop(self) -> float:
        """SIGTERM; returns the time."""
        self._running.send_signal(signal.SIGTERM)
        return time.monotonic()

    def wait_stopped(self, since: float) -> Ending:
        """Wait for its end, within bounds."""
        try:
            status = self._running.wait(max(0.0, since + _LONGEST_STOP - time.monotonic()))
        except subprocess.TimeoutExpired:
            return Ending(None, time.monotonic() - since)
        return Ending(status, time.monotonic() - since)

    def close(self) -> None:
        """Nothing of it is left."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    @property
    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, "not started"
        return self._process
