"""A real Redis on loopback, by itself or as a cluster of one node. It keeps nothing on disk."""

from __future__ import annotations

import socket
import time
from typing import Any

from typing_extensions import Self

from kit.real.ports import HOST, free_ports
from kit.real.server import DebianServer


class Redis(DebianServer):
    name = program = "redis-server"
    package = "redis-server"

    def __init__(self) -> None:
        super().__init__(free_ports(1))

    @property
    def port(self) -> int:
        return self.ports[0]

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    def arguments(self) -> list[str]:
        return ["--port", str(self.port), "--bind", HOST, "--save", "", "--appendonly", "no"]


class RedisCluster(Redis):
    """One node, which has all the slots."""

    def __init__(self) -> None:
        DebianServer.__init__(self, free_ports(2))

    def arguments(self) -> list[str]:
        return [*super().arguments(), "--cluster-enabled", "yes", "--cluster-port", str(self.ports[1])]

    def start(self) -> Self:
        super().start()
        with socket.create_connection((HOST, self.port), timeout=10) as connection, connection.makefile("rwb") as file:
            _ask(file, "CLUSTER ADDSLOTSRANGE 0 16383")
            # it serves them a moment later
            while b"cluster_state:ok" not in _ask(file, "CLUSTER INFO"):
                time.sleep(0.05)
        return self


def _ask(file: Any, command: str) -> bytes:
    file.write(f"{command}\r\n".encode())
    file.flush()
    line: bytes = file.readline()
    body: bytes = file.read(int(line[1:]) + 2) if line.startswith(b"$") else b""
    return line + body
