"""Environments of their own for the contestants, made by pip and kept by a hash of what is in them.

What the application itself is made of has the same versions in all of them, or the comparison would compare those.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache" / "stress"

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
_OFFICIAL = ("apache-skywalking==1.2.0", "grpcio==1.71.0", "grpcio-tools==1.71.0", "setuptools<81")
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
    Environment.SWAGENT: (*_STACK, "hypercorn[trio]==0.18.0", "-e", f"{ROOT}[grpc,http,kafka,trio,uvloop]"),
    Environment.OTEL: (
        *_STACK,
        "opentelemetry-sdk==1.45.2",
        "opentelemetry-exporter-otlp-proto-grpc==1.45.2",
        "opentelemetry-instrumentation-fastapi==0.66b2",
        "opentelemetry-instrumentation-httpx==0.66b2",
        "opentelemetry-instrumentation-logging==0.66b2",
    ),
    **{name: (*_STACK, *_OFFICIAL, *clients) for name, clients in _CLIENTS.items()},
    Environment.PLOTS: ("matplotlib>=3.9",),
}


class SetupError(Exception):
    """An environment could not be made; the text quotes pip."""


def prepare(name: str, cache: Path = CACHE) -> Path:
    """The environment's interpreter; made first when it is not there yet.

    :raises SetupError: pip failed
    """
    requirements = _REQUIREMENTS[name]
    folder = cache / f"{name}-{_hash(requirements)}"
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        print(f"setting up the environment {name}", file=sys.stderr, flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=False, symlinks=True)
        _install(python, requirements)
        (folder / "complete").touch()
    return python


def _hash(requirements: Sequence[str]) -> str:
    """What it depends on: with our own tree installed, on what that asks for as well."""
    own = (ROOT / "pyproject.toml").read_bytes() if "-e" in requirements else b""
    asked = "\n".join((sys.version, *requirements)).encode()
    return hashlib.sha256(asked + own).hexdigest()[:12]


def _install(python: Path, requirements: Sequence[str]) -> None:
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--quiet", "--disable-pip-version-check", "install"]
    done = subprocess.run([*pip, *requirements], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SetupError(f"pip could not install {' '.join(requirements)}:\n{done.stderr[-2000:]}")
