"""The process of the application under one contestant: start, what it takes of the machine, stop."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
import urllib.request
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from kit.real.ports import free_ports, is_listening

from ..cost.implementation import build_accelerator
from ..environments import without_settings
from .contestants import Contestant

APP_CORE, LOAD_CORE = 0, 1
_SERVED = Path(__file__).with_name("served")
_LONGEST_START = 30.0
LONGEST_STOP = 20.0
_LONGEST_DRAIN = 60.0
_MEBIBYTE = 2**20


class ServingError(Exception):
    """The application did not come up or did not answer; the text quotes what it wrote."""


@dataclass(frozen=True)
class Counts:
    """The application's own counts: handlers ended, warnings logged, and how often it was asked for them."""

    ended: int
    logged: int
    asked: int


@dataclass(frozen=True)
class Exit:
    """How it ended after SIGTERM: the seconds it took, and whether it had to be killed."""

    seconds: float
    killed: bool


class Application:
    """One process on the application's core, from its start to its end."""

    def __init__(self, contestant: Contestant, python: Path, environ: Mapping[str, str], log: Path) -> None:
        """
        :param python: the interpreter of the contestant's environment
        :param environ: its settings
        :param log: where its output goes
        """
        (self.port,) = free_ports(1)
        self._log = log
        command = ["taskset", "-c", str(APP_CORE), str(python), "-m", *contestant.command(self.port, python)]
        paths = [str(_SERVED), *([str(build_accelerator(python))] if contestant.is_accelerated else [])]
        own = {"PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command,
                cwd=_SERVED,
                env={**without_settings(), **environ, **own},
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # hypercorn's worker is a child of the process that we know
            )
        self._usage = psutil.Process(self._process.pid)

    def wait_serving(self) -> None:
        """Until its port is open; a request would be a trace.

        :raises ServingError: it ended, or took too long
        """
        deadline = time.monotonic() + _LONGEST_START
        while not is_listening(self.port):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise ServingError(f"did not start:\n{self._tail()}")
            time.sleep(0.02)  # another process's start has no event to wait for

    @property
    def pid(self) -> int:
        """Of the process that was started."""
        return self._process.pid

    def cpu(self) -> float:
        """Seconds of processor time so far, of all threads and processes."""
        times = [each.cpu_times() for each in self._family()]
        return sum(each.user + each.system for each in times)

    def rss(self) -> float:
        """Resident memory of the process that serves, in MiB: the largest, where a parent looks after it."""
        return max(each.memory_info().rss for each in self._family()) / _MEBIBYTE

    def _family(self) -> list[psutil.Process]:
        return [self._usage, *self._usage.children(recursive=True)]

    def wait_idle(self) -> Counts:
        """The counts of its work, once no handler is at work any more. Each look is a request, and so a trace.

        :raises ServingError: it does not answer, or its handlers do not end
        """
        deadline = time.monotonic() + _LONGEST_DRAIN
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/counts", timeout=_LONGEST_DRAIN) as answer:
                    said = json.load(answer)
            except OSError as error:
                raise ServingError(f"does not answer: {error}\n{self._tail()}") from error
            if said["began"] == said["ended"]:
                return Counts(said["ended"], said["logged"], said["asked"])
            time.sleep(0.1)
        raise ServingError(f"its handlers do not end:\n{self._tail()}")

    def stop(self) -> Exit:
        """SIGTERM, and after a while SIGKILL."""
        since = time.monotonic()
        descriptor = os.pidfd_open(self._process.pid)  # Popen.wait with a timeout looks only twenty times a second
        try:
            self._process.terminate()
            ended, _, _ = select.select([descriptor], [], [], LONGEST_STOP)
        finally:
            os.close(descriptor)
        seconds = time.monotonic() - since
        self.kill()
        return Exit(seconds, killed=not ended)

    def kill(self) -> None:
        """Nothing of it is left."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _tail(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-25:])


def serve(contestant: Contestant, python: Path, environ: Mapping[str, str], log: Path, stack: ExitStack) -> Application:
    """Start it; it ends with the stack at the latest."""
    application = Application(contestant, python, environ, log)
    stack.callback(application.kill)
    application.wait_serving()
    return application
