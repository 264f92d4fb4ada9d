"""Other agents that would start in the same process, as far as that shows in the environment of a command."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..instrument.gate import version_of

_OWN_BOOTSTRAP = Path(__file__).parent / "bootstrap"
# Where sw-python, the official agent's starter, has its `sitecustomize`.
_OFFICIAL_BOOTSTRAP = ("skywalking", "bootstrap", "loader")
# And opentelemetry-instrument, OpenTelemetry's.
_OPENTELEMETRY_BOOTSTRAP = ("opentelemetry", "instrumentation", "auto_instrumentation")


def other_agents(environ: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each."""
    path = [Path(entry) for entry in environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    version = version_of("apache-skywalking")
    if any(entry.parts[-3:] == _OFFICIAL_BOOTSTRAP for entry in path) or "skywalking" in sys.modules:
        yield ("sw-python starts the official agent in this environment. Two agents report every request twice: "
               "leave one of them out")  # fmt: skip
    elif version is not None:
        yield (f"the official agent (apache-skywalking {version}) is installed as well. An application that starts it "
               "reports every request twice: let it start one of the two")  # fmt: skip
    if any(entry.parts[-3:] == _OPENTELEMETRY_BOOTSTRAP for entry in path):
        yield ("opentelemetry-instrument starts OpenTelemetry's agent in this environment. Two agents record every "
               "call twice: leave one of them out")  # fmt: skip
    if _OWN_BOOTSTRAP in path:
        yield ("`swagent run` starts the agent in every Python process of this environment. It needs no "
               "SkyWalkingMiddleware and no `swagent.start()` beside it")  # fmt: skip
