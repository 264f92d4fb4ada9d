"""The command line: `swagent run`, `collector`, `ask`, `profile`, `doctor`, `config`."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from types import ModuleType

# As a shell has it for a process that SIGPIPE ended, which Python ignores.
_BROKEN_PIPE = 141


class _Command:
    """A command, and the module that knows its arguments (`add_arguments`) and does it (`run`)."""

    def __init__(self, module: str, help: str, description: str) -> None:  # noqa: A002  (as argparse calls it)
        self.module = module
        self.help = help
        self.description = description


_COMMANDS = {
    "run": _Command(
        ".run", "start a command with the agent in its process",
        "Start a Python command with the agent in its process, configured by the environment or a file.",
    ),
    "collector": _Command(
        "..collector.command", "a small collector for development, with a page in the browser",
        "Take what agents report, keep it up to a bound, show it in the browser, and print every trace.",
    ),
    "ask": _Command(
        ".ask", "what is amiss, by a running collector: now, or in one trace",
        "Ask a running `swagent collector` what is amiss: over all that it has kept, or in one trace.",
    ),
    "profile": _Command(
        ".profile", "where the requests of an endpoint spend their time, by a running collector",
        "Have a service profile an endpoint, through a running `swagent collector`, and print the merged stacks.",
    ),
    "doctor": _Command(
        ".doctor", "show the effective configuration and try the transport",
        "Show every setting and where it comes from, reach each collector, and send it one heartbeat.",
    ),
    "config": _Command(".settings", "the table of all settings", "Show every setting and where it comes from."),
}  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == ["run"]:
        from .run import read_plainly  # noqa: PLC0415, RUF100  (an application waits for each import here)

        plain = read_plainly(given[1:])
        if plain is not None:
            return plain.run()
    args = _parser(next((each for each in given if not each.startswith("-")), None)).parse_args(given)
    try:
        status = _run(args)
        print(end="", flush=True)
    except BrokenPipeError:
        # the interpreter flushes stdout once more at its end, and would complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    return status


def _run(args: argparse.Namespace) -> int:
    status: int = _module_of(args.command).run(args)
    return status


def _parser(chosen: str | None) -> argparse.ArgumentParser:
    """The parser, with the arguments of one command: the modules of the others are not imported, since an application
    waits for `swagent run` at each of its starts."""
    import argparse  # noqa: PLC0415, RUF100  (as above)

    parser = argparse.ArgumentParser(prog="swagent", description="The SkyWalking agent for asyncio and trio.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in _COMMANDS.items():
        described = commands.add_parser(name, help=command.help, description=command.description)
        if name == chosen:
            _module_of(name).add_arguments(described)
    return parser


def _module_of(command: str) -> ModuleType:
    from importlib import import_module  # noqa: PLC0415, RUF100  (as above)

    return import_module(_COMMANDS[command].module, __name__)
