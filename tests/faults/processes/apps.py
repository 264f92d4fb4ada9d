"""Applications under real servers, started by the warm interpreter."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil
from typing_extensions import Self

HERE = Path(__file__).parent
PYTHONPATH = os.pathsep.join(filter(None, [str(HERE.parents[1]), os.environ.get("PYTHONPATH")]))
_LISTENING = re.compile(r"(?:unning on|Listening at:) http://127\.0\.0\.1:(\d+)")


class Warm:
    """The warm interpreter. Blocking calls, of a millisecond or so."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, str(HERE / "warm.py"), str(theirs.fileno())]
            environ = {**os.environ, "PYTHONPATH": PYTHONPATH}
            # a group of its own: Ctrl-C is for the tests
            self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=environ, start_new_session=True)

    def run(self, command: Sequence[str], environ: Mapping[str, str], output: int) -> int:
        """Run `python -m COMMAND`, the leader of a session of its own; returns its process id."""
        order = {"run": command, "environ": dict(environ), "folder": str(HERE)}
        socket.send_fds(self._control, [json.dumps(order).encode()], [output])
        return int(self._control.recv(64))

    def reap(self, process: int) -> int:
        """The exit status of a process that ends or has ended."""
        self._control.send(json.dumps({"reap": process}).encode())
        return int(self._control.recv(64))

    def close(self) -> None:
        self._control.close()
        self._process.wait(10)


class App:
    """One server with its application.

    :ivar service: the name under which it reports
    :ivar output: what it and its workers printed so far
    :ivar port: where it listens
    :ivar status: how it ended
    """

    def __init__(self, warm: Warm, command: Sequence[str], environ: Mapping[str, str]) -> None:
        own = {name: value for name, value in os.environ.items() if not name.startswith("SW_")}
        self._warm = warm
        self._reading, writing = os.pipe()
        self.service = environ["SW_AGENT_NAME"]
        self.pid = warm.run(command, {**own, "PYTHONPATH": PYTHONPATH, **environ}, writing)
        os.close(writing)
        self.output = ""
        self.port = 0
        self.status: int | None = None
        self._is_over = False
        self._changed = asyncio.Event()
        os.set_blocking(self._reading, False)
        asyncio.get_running_loop().add_reader(self._reading, self._read)

    async def __aenter__(self) -> Self:
        try:
            self.port = int((await self.printed(_LISTENING))[1])
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        """Kill whatever is left."""
        if self.status is None:
            self.send_all(signal.SIGKILL)
            await self.ended()

    async def printed(self, pattern: re.Pattern[str] | str, timeout: float = 90) -> re.Match[str]:
        """Wait for a line, and not beyond the end of the output."""
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._until(lambda: self._is_over or bool(re.search(pattern, self.output))), timeout)
        found = re.search(pattern, self.output)
        assert found, f"{pattern} is not in {self.output}"
        return found

    async def ended(self, timeout: float = 30) -> int:
        """Wait until no process of this server has its output any more, no worker of it either; returns the status."""
        try:
            await asyncio.wait_for(self._until(lambda: self._is_over), timeout)
        except asyncio.TimeoutError:
            raise AssertionError(f"these run on: {self.left()}\n{self.output}") from None
        if self.status is None:
            self.status = self._warm.reap(self.pid)
        return self.status

    def send(self, number: signal.Signals) -> None:
        """Signal the server's first process, as a service manager does."""
        os.kill(self.pid, number)

    def send_all(self, number: signal.Signals) -> None:
        """Signal all of its processes, as a terminal does."""
        os.killpg(self.pid, number)

    @property
    def processes(self) -> list[int]:
        """Its first process, and all that come of it."""
        return [self.pid, *(each.pid for each in psutil.Process(self.pid).children(recursive=True))]

    @property
    def starved(self) -> float:
        """Seconds for which its threads were ready and no processor was free; 0 where the system does not say.

        The second number of schedstat: https://docs.kernel.org/scheduler/sched-stats.html
        """
        waited = 0
        for process in self.processes:
            for thread in Path(f"/proc/{process}/task").glob("*/schedstat"):
                with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
                    waited += int(thread.read_text().split()[1])
        return waited / 1e9

    def left(self) -> list[str]:
        """Which of its processes still run. One that was not reaped is gone: multiprocessing's tracker of resources
        ends after its parent."""
        found: list[str] = []
        for process in psutil.process_iter():
            with suppress(psutil.NoSuchProcess, ProcessLookupError):
                if os.getsid(process.pid) == self.pid and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(f"{process.pid} {process.cmdline()}")
        return found

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            await self._changed.wait()

    def _read(self) -> None:
        data = os.read(self._reading, 65_536)
        self.output += data.decode(errors="replace")
        if not data:
            asyncio.get_running_loop().remove_reader(self._reading)
            os.close(self._reading)
            self._is_over = True
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
