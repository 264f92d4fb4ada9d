"""Those that are compared: no agent, swagent and two others, each started by its own command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..compare.environments import OFFICIAL
from ..environments import ROOT, python_with

_STACK = (
    "fastapi==0.165.0", "uvicorn==0.54.0", "uvloop==0.23.0", "httptools==0.9.0", "hypercorn[trio]==0.18.0",
    "requests==2.34.2",
)  # fmt: skip


@dataclass(frozen=True)
class Peer:
    """
    :ivar sink: what it sends to: grpc, otlp or nothing
    :ivar program: its command in the environment's `bin`, and the arguments before the application's own
    :ivar requirements: beside those of the application
    :ivar is_accelerated: for swagent, whether it has the accelerator
    """

    name: str
    sink: str
    program: Sequence[str]
    requirements: Sequence[str]
    is_accelerated: bool = False

    def prepare(self, interpreter: str) -> Path:
        """The folder of its programs; its environment is made first where it is not there yet.

        :param interpreter: the environment is made of this one
        :raises SetupError: pip failed
        """
        name = f"start-{self.name.removesuffix('-native')}"
        return python_with(name, (*_STACK, *self.requirements), interpreter=interpreter).parent

    def command(self, folder: Path, arguments: Sequence[str]) -> list[str]:
        """How it starts a program of the environment.

        :param arguments: the program by its name and its arguments
        """
        own = [str(folder / self.program[0]), *self.program[1:]] if self.program else []
        program, *rest = arguments
        return [*own, str(folder / program), *rest]

    def settings(self, address: str) -> Mapping[str, str]:
        """Its environment variables, and nothing else that is not the default.

        :param address: the sink's, host:port
        """
        if self.sink == "otlp":
            return {
                "OTEL_SERVICE_NAME": "started",
                "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{address}",
                "OTEL_EXPORTER_OTLP_INSECURE": "true",
            }
        return {"SW_AGENT_NAME": "started", "SW_AGENT_COLLECTOR_BACKEND_SERVICES": address} if self.sink else {}


_SWAGENT = ("-e", f"{ROOT}[grpc,uvloop]")
_RUN = ("swagent", "run", "--")
PEERS: Mapping[str, Peer] = {
    each.name: each
    for each in (
        Peer("bare", "", (), ()),
        Peer("swagent", "grpc", _RUN, _SWAGENT),
        Peer("swagent-native", "grpc", _RUN, _SWAGENT, is_accelerated=True),
        Peer(
            "official", "grpc", ("sw-python", "run"),
            OFFICIAL,
        ),
        Peer(
            "otel", "otlp", ("opentelemetry-instrument",),
            (
                "opentelemetry-distro==0.66b2", "opentelemetry-exporter-otlp-proto-grpc==1.45.2",
                "opentelemetry-instrumentation-fastapi==0.66b2", "opentelemetry-instrumentation-requests==0.66b2",
                "opentelemetry-instrumentation-logging==0.66b2",
            ),
        ),
    )
}  # fmt: skip
