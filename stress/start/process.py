"""A started process and all of its children: processor time, memory, wake-ups."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

_LONGEST = 60.0
_MEBIBYTE = 2**20


class StartError(Exception):
    """A process failed; the text quotes what it wrote."""


def run_to_end(command: Sequence[str], environ: Mapping[str, str], folder: Path) -> float:
    """Run a script.

    :returns: its processor time in seconds, with that of the children that it waited for
    :raises StartError: its status is not 0
    """
    nothing, pipe = subprocess.DEVNULL, subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, env=dict(environ), stdout=nothing, stderr=pipe) as process:
        assert process.stderr is not None
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise StartError(f"{' '.join(command)} ended with {process.returncode}:\n{said.decode()[-2000:]}")
    return usage.ru_utime + usage.ru_stime


class Server:
    """A server in a process group of its own, from its start to `kill`."""

    def __init__(
        self, command: Sequence[str], environ: Mapping[str, str], folder: Path, port: int, longest: float = _LONGEST
    ) -> None:
        """:param longest: seconds until an answer"""
        self._url = f"http://127.0.0.1:{port}/"
        self._command = command
        self._longest = longest
        self._process = subprocess.Popen(
            command, cwd=folder, env=dict(environ), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        self._usage = psutil.Process(self._process.pid)

    def wait_for_answer(self) -> None:
        """Until it has answered for the first time.

        :raises StartError: it ended, or took too long
        """
        deadline = time.monotonic() + self._longest
        while self._process.poll() is None and time.monotonic() < deadline:
            with suppress(OSError):
                self.ask()
                return
            time.sleep(0.01)  # another process's start has no event to wait for
        raise StartError(f"{' '.join(self._command)} does not answer")

    def ask(self) -> None:
        """One request on a connection of its own.

        :raises OSError: it does not answer
        """
        with urllib.request.urlopen(self._url, timeout=self._longest) as answer:
            answer.read()

    def processor_time(self) -> float:
        """Seconds so far, of all its processes."""
        return sum(each.cpu_times().user + each.cpu_times().system for each in self._family())

    def own_memory(self) -> float:
        """Memory in MiB that no other process shares, of the largest of its processes."""
        return max(each.memory_full_info().uss for each in self._family()) / _MEBIBYTE

    def thread_time(self) -> float:
        """Seconds of processor time of the threads that it has now: exact, where `processor_time` counts in ticks."""
        return sum(map(_nanoseconds, self._threads())) / 1e9

    def wake_ups(self) -> int:
        """How often its threads have gone on after a wait so far."""
        return sum(map(_waits, self._threads()))

    def _threads(self) -> list[Path]:
        return [thread for each in self._family() for thread in Path(f"/proc/{each.pid}/task").iterdir()]

    def _family(self) -> list[psutil.Process]:
        return [self._usage, *self._usage.children(recursive=True)]

    def end(self) -> None:
        """Ask it and its children to end, and wait until all have."""
        family = self._family()
        os.killpg(self._process.pid, signal.SIGTERM)
        self._process.wait()
        psutil.wait_procs(family)

    def kill(self) -> None:
        """End it and its children at once."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@contextmanager
def running(
    command: Sequence[str], environ: Mapping[str, str], folder: Path, port: int, longest: float = _LONGEST
) -> Iterator[Server]:
    """A server that has answered once; it is killed in the end.

    :param longest: seconds until that answer
    :raises StartError: it does not answer
    """
    server = Server(command, environ, folder, port, longest)
    try:
        server.wait_for_answer()
        yield server
    finally:
        server.kill()


def _nanoseconds(thread: Path) -> int:
    return int((_read(thread / "schedstat") or "0").split()[0])


def _waits(thread: Path) -> int:
    lines = (_read(thread / "status") or "voluntary_ctxt_switches: 0").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt_switches"))


def _read(path: Path) -> str:
    """Empty where the thread has ended meanwhile."""
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
