"""The life of a real server under test: start, stop, kill, restart, pause, resume, close."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from typing_extensions import Self

from kit.real.jars import UnavailableError, jars, java
from kit.real.jvm import start_java
from kit.real.ports import is_listening

_START_SECONDS = 300.0
_STOP_SECONDS = 10.0
_LOG_LINES = 30


class ServerError(Exception):
    """A server ended by itself or did not answer in time; the text quotes its log."""


class Server(ABC):
    """The ports and the folder `home` stay the same from the constructor to close(), over every restart."""

    name: ClassVar[str]
    ready_line: ClassVar[str] = ""  # what the log must say besides the ports being open

    def __init__(self, ports: Sequence[int]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix=f"{self.name}-")
        self._process: subprocess.Popen[bytes] | None = None
        self.ports = tuple(ports)
        self.home = Path(self._folder.name)
        self.log = self.home / "server.log"
        atexit.register(self.close)

    @abstractmethod
    def launch(self) -> subprocess.Popen[bytes]:
        """Begin its process, which writes to `log`."""

    def start(self) -> Self:
        """Return when the server answers. Harmless where it runs already."""
        if self._process is None:
            self._refuse_taken_ports()
            log_from = self.log.stat().st_size if self.log.exists() else 0
            self._process = self.launch()
            try:
                self._wait_ready(self._process, log_from)
            except BaseException:
                self.kill()
                raise
        return self

    def stop(self) -> None:
        """Ask it to end, then end it."""
        if self._process is not None:
            self.resume()  # a paused process would never see the request
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_STOP_SECONDS)
            self.kill()

    def kill(self) -> None:
        """As `kill -9`: no goodbye to any peer, nothing flushed."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def restart(self) -> None:
        self.stop()
        self.start()

    def pause(self) -> None:
        """Freeze it: the kernel goes on accepting connections and bytes, and nothing reads them."""
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)
            # its threads stop one by one; WNOWAIT only looks, so that Popen still finds an exit
            os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def resume(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)

    def wait(self) -> int:
        """Until it ends by itself."""
        return self._process.wait() if self._process is not None else 0

    def close(self) -> None:
        """Stop it and remove its data."""
        atexit.unregister(self.close)
        self.stop()
        self._folder.cleanup()

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()

    def _refuse_taken_ports(self) -> None:
        """Else a stranger's open port would pass for our server being up."""
        if taken := [port for port in self.ports if is_listening(port)]:
            raise ServerError(f"{self.name} needs port {taken[0]}, and something listens there already")

    def _wait_ready(self, process: subprocess.Popen[bytes], log_from: int) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while not self._is_ready(log_from):
            if (code := process.poll()) is not None:
                raise ServerError(f"{self.name} ended with status {code} while starting:\n{self._tail()}")
            if time.monotonic() > deadline:
                raise ServerError(f"{self.name} is not up after {_START_SECONDS:.0f} s:\n{self._tail()}")
            time.sleep(0.1)

    def _is_ready(self, log_from: int) -> bool:
        if not all(is_listening(port) for port in self.ports):
            return False
        return self.ready_line in self.log.read_bytes()[log_from:].decode(errors="replace")

    def _tail(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-_LOG_LINES:])


class JavaServer(Server):
    """A server whose jars Maven fetches."""

    version: ClassVar[str]
    heap: ClassVar[str]

    def __init__(self, ports: Sequence[int]) -> None:
        self._java, self._jars = java(), self.jars()
        super().__init__(ports)

    def jars(self) -> Path:
        """The folder of its jars."""
        return jars(self.name, self.version)

    @abstractmethod
    def arguments(self) -> list[str]:
        """The main class and what follows it."""

    def classpath(self) -> list[Path]:
        return [self._jars / "*"]

    def environment(self) -> Mapping[str, str]:
        return {}

    def java(self, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
        """A JVM with this server's jars."""
        classpath = os.pathsep.join(map(str, self.classpath()))
        command = [self._java, f"-Xmx{self.heap}", "-cp", classpath, *arguments]
        return start_java(command, home=self.home, log=self.log, environment=self.environment())

    def launch(self) -> subprocess.Popen[bytes]:
        return self.java(self.arguments())


class DebianServer(Server):
    """A server that a Debian package brings."""

    program: ClassVar[str]
    package: ClassVar[str]

    def __init__(self, ports: Sequence[int]) -> None:
        # where Debian puts servers is not on every user's path
        found = shutil.which(self.program, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/usr/local/sbin")
        if found is None:
            raise UnavailableError(f"no {self.program} on the PATH: install {self.package}")
        self._program = found
        super().__init__(ports)

    @abstractmethod
    def arguments(self) -> list[str]:
        """The arguments after the program's name."""

    def launch(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            command = [self._program, *self.arguments()]
            return subprocess.Popen(command, cwd=self.home, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
