"""One real RabbitMQ on loopback, as Debian packages it: `with RabbitMQ() as rabbitmq:`."""

from __future__ import annotations

import atexit
import contextlib
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from typing_extensions import Self

from kit.real.jars import UnavailableError
from kit.real.jvm import start_program
from kit.real.ports import HOST, free_ports, is_listening
from kit.real.server import ServerError

# the one on the PATH wants to become the user `rabbitmq`, and root to become it
_SCRIPT = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
_START_SECONDS = 120.0
_STOP_SECONDS = 10.0


class RabbitMQ:
    """Its user is `guest`, with the password `guest`. All it keeps goes with close()."""

    def __init__(self) -> None:
        epmd = shutil.which("epmd")
        if epmd is None or not _SCRIPT.exists():
            raise UnavailableError("no RabbitMQ here: install Debian's rabbitmq-server")
        self._epmd = epmd
        self._folder = tempfile.TemporaryDirectory(prefix="rabbitmq-")
        self._running: list[subprocess.Popen[bytes]] = []
        self.home = Path(self._folder.name)
        self.log = self.home / "server.log"
        self.port, self._names_port, self._inner_port = free_ports(3)
        self.address = f"{HOST}:{self.port}"
        self.url = f"amqp://guest:guest@{self.address}/"
        atexit.register(self.close)

    def __enter__(self) -> Self:
        try:
            # its name service; started by the server, it would outlive it
            self._start(self._epmd, "-port", str(self._names_port), "-address", HOST)
            self._wait(self._names_port)
            self._start(str(_SCRIPT), "-noinput")
            self._wait(self.port)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        atexit.unregister(self.close)
        for process in reversed(self._running):
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_STOP_SECONDS)
            process.kill()
            process.wait()
        self._running.clear()
        self._folder.cleanup()

    def _start(self, *command: str) -> None:
        self._running.append(start_program(command, home=self.home, log=self.log, environment=self._environment()))

    def _environment(self) -> dict[str, str]:
        home = str(self.home)
        return {
            "HOME": home,
            "ERL_EPMD_PORT": str(self._names_port),
            "ERL_EPMD_ADDRESS": HOST,
            "RABBITMQ_NODENAME": f"tests{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": HOST,
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(self._inner_port),
            "RABBITMQ_MNESIA_BASE": home,
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{home}/plugins",
            "RABBITMQ_CONF_ENV_FILE": f"{home}/none",
            "RABBITMQ_CONFIG_FILE": f"{home}/none",
            # for the script to become the server, and not to stay beside it
            "RABBITMQ_ALLOW_INPUT": "1",
            # two noisy cores are no reason for spinning
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+sbwt none +sbwtdcpu none +sbwtdio none",
        }

    def _wait(self, port: int) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while not is_listening(port):
            if (code := self._running[-1].poll()) is not None or time.monotonic() > deadline:
                raise ServerError(f"RabbitMQ is not up ({code}):\n{self.log.read_text(errors='replace')[-3000:]}")
            time.sleep(0.1)
