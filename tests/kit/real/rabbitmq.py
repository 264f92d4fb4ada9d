"""One real RabbitMQ on loopback, as Debian packages it: `with RabbitMQ() as rabbitmq:`."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

from kit.real.jars import UnavailableError
from kit.real.jvm import start_program
from kit.real.ports import HOST, free_ports, is_listening
from kit.real.server import Server, ServerError

# the one on the PATH wants to become the user `rabbitmq`, and root to become it
_SCRIPT = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
_NAMES_SECONDS = 30.0


class RabbitMQ(Server):
    """Its user is `guest`, with the password `guest`. All it keeps goes with close()."""

    name = "rabbitmq"

    def __init__(self) -> None:
        epmd = shutil.which("epmd")
        if epmd is None or not _SCRIPT.exists():
            raise UnavailableError("no RabbitMQ here: install rabbitmq-server")
        self._epmd = epmd
        self._names: subprocess.Popen[bytes] | None = None
        port, inner, self._names_port = free_ports(3)
        super().__init__((port, inner))
        self.address = f"{HOST}:{port}"
        self.url = f"amqp://guest:guest@{self.address}/"

    def launch(self) -> subprocess.Popen[bytes]:
        # made by Erlang, it is readable for all at first: on a busy machine a server has refused its own
        cookie = self.home / ".erlang.cookie"
        cookie.touch(0o600)
        cookie.write_text("swagent")
        # its name service; started by the server itself, it would outlive it
        self._names = self._run(self._epmd, "-port", str(self._names_port), "-address", HOST)
        deadline = time.monotonic() + _NAMES_SECONDS
        while not is_listening(self._names_port):
            if self._names.poll() is not None or time.monotonic() > deadline:
                raise ServerError(f"epmd is not up:\n{self.log.read_text(errors='replace')}")
            time.sleep(0.05)
        return self._run(str(_SCRIPT), "-noinput")

    def kill(self) -> None:
        super().kill()
        if self._names is not None:
            self._names.kill()
            self._names.wait()
            self._names = None

    def _run(self, *command: str) -> subprocess.Popen[bytes]:
        return start_program(command, home=self.home, log=self.log, environment=self._environment())

    def _environment(self) -> dict[str, str]:
        home = str(self.home)
        port, inner = self.ports
        return {
            "HOME": home,
            "ERL_EPMD_PORT": str(self._names_port),
            "ERL_EPMD_ADDRESS": HOST,
            "RABBITMQ_NODENAME": f"tests{port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": HOST,
            "RABBITMQ_NODE_PORT": str(port),
            "RABBITMQ_DIST_PORT": str(inner),
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
