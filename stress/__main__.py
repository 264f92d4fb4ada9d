"""The commands: each is a module with `main(arguments) -> exit status`, imported when it is asked for."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module

from .environments import SetupError

COMMANDS: Mapping[str, tuple[str, str]] = {
    "clients": ("stress.clients.command", "the libraries that were chosen from, measured again"),
    "lessons": ("stress.lessons.command", "the published tables of waits, pools and connections, measured again"),
    "pipeline": ("stress.pipeline.command", "segments per second, latency and memory, from record to acknowledgement"),
    "calls": ("stress.calls.command", "microseconds of an instrumented call, native and by OpenTelemetry's bridge"),
    "cost": ("stress.cost.command", "instructions a request, bare and with the agent, by callgrind"),
    "profile": ("stress.profile", "a flame graph of the application under load"),
    "findings": (
        "stress.findings.command",
        "causes planted in small applications, and whether the collector finds them",
    ),
    "start": ("stress.start.command", "starts, memory and idle processes, beside other agents"),
    "attach": ("stress.attach.command", "attaching to an application that serves under load"),
    "soak": ("stress.soak.command", "random faults under load, and a verdict on what became of every record"),
    "pressure": (
        "stress.pressure.command",
        "three services at five times what their collector takes: what is kept of their traces",
    ),
    "world": (
        "stress.world.command",
        "the agent in a simulated world: any faults from a seed, on a virtual clock, and what must hold",
    ),
    "fleet": (
        "stress.fleet.command",
        "thousands of agents against a few collectors, simulated: reconnections, and how the load is spread",
    ),
    "compare": (
        "stress.compare.command",
        "one application under no agent, swagent and others: what each costs and delivers",
    ),
}


def main(arguments: list[str]) -> int:
    """Run the command that the first argument names."""
    if not arguments or arguments[0] not in COMMANDS:
        lines = [f"  {name:<12}{meaning}" for name, (_, meaning) in COMMANDS.items()]
        print("python -m stress COMMAND [--help]\n", *lines, sep="\n", file=sys.stderr)
        return 2
    module, _ = COMMANDS[arguments[0]]
    try:
        status: int = import_module(module).main(arguments[1:])
    except SetupError as error:
        print(f"python -m stress {arguments[0]}: {error}", file=sys.stderr)
        return 2
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
