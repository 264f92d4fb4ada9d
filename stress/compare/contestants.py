"""The contestants that are compared: the agent, transport, server and environment of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .environments import Environment, official

HANDLERS = ("trivial", "await", "call", "spans")
TRANSPORTS = ("grpc", "http", "kafka")

_UVICORN = ("uvicorn", "--factory", "applications:{agent}", "--port", "{port}", "--no-access-log", "--loop", "{loop}")
_HYPERCORN = ("hypercorn", "applications:{agent}()", "--bind", "127.0.0.1:{port}", "-k", "{loop}")
_OWN = Environment.SWAGENT
_OTEL_SPANS = {"trivial": 3, "await": 3, "call": 4, "spans": 13}

_REMARKS = {
    "official-async-http": "delivers nothing: its own plugin for aiohttp answers the agent's reports with a function "
    "instead of sending them, and without that plugin the agent closes its HTTP session after the first report",
}


@dataclass(frozen=True)
class Contestant:
    """:ivar agent: the factory in `served/applications.py`
    :ivar sink: what it sends to: grpc, http, kafka, otlp, or nothing
    :ivar is_async: for the official agent, which of its two modes
    :ivar freezes: for swagent, whether it leaves what the start has made out of later garbage collections
    :ivar is_accelerated: for swagent, whether it has the accelerator, and so splits the time of each request
    :ivar is_run: for swagent, whether `swagent run` starts the server, whose code then knows of no agent
    """

    name: str
    agent: str
    sink: str
    environment: str
    loop: str = "uvloop"
    is_async: bool = False
    freezes: bool = False
    is_accelerated: bool = False
    is_run: bool = False

    @property
    def remark(self) -> str:
        """The facts about it that a reader of its figures should know."""
        return _REMARKS.get(self.name, "")

    @property
    def bare(self) -> str:
        """The contestant without an agent that it is compared with: the same server on the same loop."""
        return "bare" if self.loop == "uvloop" else f"bare-{self.loop}"

    @property
    def must_deliver(self) -> bool:
        """Whether a lost record fails the run."""
        return self.agent == "swagent"

    def command(self, port: int, python: Path) -> list[str]:
        """The module that is started and its arguments.

        :param python: the interpreter that starts it
        """
        server = _HYPERCORN if self.loop == "trio" else _UVICORN
        factory = "bare" if self.is_run else self.agent
        command = [part.format(agent=factory, port=port, loop=self.loop) for part in server]
        return ["swagent", "run", "--", str(python), "-m", *command] if self.is_run else command

    def settings(self, address: str) -> Mapping[str, str]:
        """Its environment variables: where to send, what its name says, and nothing else that is not the default.

        :param address: the sink's, host:port
        """
        if self.agent == "otel":
            return {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{address}", "OTEL_EXPORTER_OTLP_INSECURE": "true"}
        if self.agent == "bare":
            return {}
        where = "SW_KAFKA_BOOTSTRAP_SERVERS" if self.sink == "kafka" else "SW_AGENT_COLLECTOR_BACKEND_SERVICES"
        more = {"SW_AGENT_ASYNCIO_ENHANCEMENT": "true"} if self.is_async else {}
        more |= {"SW_AGENT_GC_FREEZE": "true"} if self.freezes else {}
        return {"SW_AGENT_NAME": "compared", "SW_AGENT_PROTOCOL": self.sink, where: address, **more}

    def records_of(self, handler: str) -> int:
        """How many records other than logs one request makes: a segment, or for OpenTelemetry its spans, of which the
        instrumentation makes two for what ASGI sends."""
        return _OTEL_SPANS[handler] if self.agent == "otel" else 1


def _all() -> list[Contestant]:
    swagent = [Contestant(f"swagent-{each}", "swagent", each, _OWN) for each in TRANSPORTS]
    return [
        Contestant("bare", "bare", "", _OWN),
        *swagent,
        *(Contestant(f"swagent-{each}-native", "swagent", each, _OWN, is_accelerated=True) for each in TRANSPORTS),
        *(Contestant(f"swagent-{each}-freeze", "swagent", each, _OWN, freezes=True) for each in TRANSPORTS),
        Contestant("swagent-grpc-run", "swagent", "grpc", _OWN, is_run=True),
        Contestant("bare-asyncio", "bare", "", _OWN, loop="asyncio"),
        Contestant("swagent-grpc-asyncio", "swagent", "grpc", _OWN, loop="asyncio"),
        Contestant("bare-trio", "bare", "", _OWN, loop="trio"),
        Contestant("swagent-grpc-trio", "swagent", "grpc", _OWN, loop="trio"),
        *(Contestant(f"official-sync-{each}", "official", each, official("sync", each)) for each in TRANSPORTS),
        *(
            Contestant(f"official-async-{each}", "official", each, official("async", each), is_async=True)
            for each in TRANSPORTS
        ),
        Contestant("otel-grpc", "otel", "otlp", Environment.OTEL),
    ]


CONTESTANTS: Mapping[str, Contestant] = {each.name: each for each in _all()}
SHORT = ("bare", "swagent-grpc", "swagent-grpc-run", "swagent-http")
"""The contestants that the short form compares."""
