"""The real servers that the applications of a run with `--everything` call."""

from __future__ import annotations

import asyncio
import json
from contextlib import ExitStack
from dataclasses import asdict, dataclass

from kit.real.databases import Mariadb, Postgres
from kit.real.ports import free_ports
from kit.real.rabbitmq import RabbitMQ
from kit.real.redis import Redis

VARIABLE = "SOAK_SERVERS"
SETTINGS = {
    "SW_AGENT_DISABLE_PLUGINS": "uvicorn,hypercorn",  # they would put an agent of their own around the application
    "SW_AGENT_TIME_SPLIT_EVERY": "1",
    "SW_PLUGIN_SQL_STATEMENTS": "true",
    "SW_AGENT_COLLECTOR_GET_PROFILE_TASK_INTERVAL": "10",
}
"""Of their agents: what costs most is on."""
_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\nok"


@dataclass(frozen=True)
class Servers:
    """Where they are.

    :ivar postgres: a URL
    :ivar mariadb: a port on loopback
    :ivar redis: as `mariadb`
    :ivar rabbitmq: a URL
    :ivar http: a URL
    """

    postgres: str
    mariadb: int
    redis: int
    rabbitmq: str
    http: str

    def environ(self) -> dict[str, str]:
        """The variable by which an application learns of them."""
        return {VARIABLE: json.dumps(asdict(self))}


def read_servers(text: str) -> Servers:
    """The servers by that variable."""
    return Servers(**json.loads(text))


def start_servers(stack: ExitStack) -> Servers:
    """Start all but the HTTP service, for which there is a free port. They end with the stack."""
    postgres, mariadb = stack.enter_context(Postgres()), stack.enter_context(Mariadb())
    redis, rabbitmq = stack.enter_context(Redis()), stack.enter_context(RabbitMQ())
    (port,) = free_ports(1)
    return Servers(postgres.url, mariadb.port, redis.port, rabbitmq.url, f"http://127.0.0.1:{port}/")


async def serve_http(servers: Servers) -> asyncio.Server:
    """Answer every request with two bytes, in this process, as a service without an agent."""
    port = int(servers.http.rstrip("/").rpartition(":")[2])

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(_ANSWER)
        except (asyncio.IncompleteReadError, OSError):
            writer.close()

    return await asyncio.start_server(answer, "127.0.0.1", port)
