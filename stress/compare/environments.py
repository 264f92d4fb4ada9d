"""The packages in the contestants' environments.

The packages of the application itself have the same versions in all of them, or the comparison would compare those.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..environments import ROOT, python_with

_STACK = (
    "anyio==4.16.0",
    "fastapi==0.165.0",
    "h11==0.16.0",
    "httpcore==1.0.9",
    "httptools==0.9.0",
    "httpx==0.28.1",
    "pydantic==2.14.3",
    "starlette==1.10.0",
    "uvicorn==0.54.0",
    "uvloop==0.23.0",
)
# It looks for the plugins' packages by pkg_resources, which setuptools has given up.
OFFICIAL = ("apache-skywalking==1.2.0", "grpcio==1.71.0", "grpcio-tools==1.71.0", "setuptools<81")
# Its extras for the async protocols ask for an uvloop of 2022. The clients alone are taken from them, so that the
# applications run on the same loop.
_CLIENTS = {
    "official-sync-grpc": (),
    "official-sync-http": ("requests==2.34.2",),
    "official-sync-kafka": ("kafka-python==3.0.12",),
    "official-async-grpc": (),
    "official-async-http": ("aiohttp>=3.7.4,<4",),
    "official-async-kafka": ("aiokafka>=0.8,<0.9", "kafka-python==2.0.2"),
}


class Environment:
    """Their names."""

    SWAGENT = "swagent"
    OTEL = "otel"
    PLOTS = "plots"


def official(mode: str, transport: str) -> str:
    """The environment of the official agent with the client of one transport: its plugins are for what is installed, so
    a client more would be a cost more."""
    return f"official-{mode}-{transport}"


_REQUIREMENTS: Mapping[str, Sequence[str]] = {
    Environment.SWAGENT: (
        *_STACK,
        "asyncpg==0.32.0",
        "hypercorn[trio]==0.18.0",
        "-e",
        f"{ROOT}[grpc,http,kafka,trio,uvloop]",
    ),
    Environment.OTEL: (
        *_STACK,
        "opentelemetry-sdk==1.45.2",
        "opentelemetry-exporter-otlp-proto-grpc==1.45.2",
        "opentelemetry-instrumentation-fastapi==0.66b2",
        "opentelemetry-instrumentation-httpx==0.66b2",
        "opentelemetry-instrumentation-logging==0.66b2",
    ),
    **{name: (*_STACK, *OFFICIAL, *clients) for name, clients in _CLIENTS.items()},
    Environment.PLOTS: ("matplotlib>=3.9",),
}


def prepare(name: str) -> Path:
    """The environment's interpreter; made first when it is not there yet.

    :raises SetupError: pip failed
    """
    return python_with(name, _REQUIREMENTS[name])
