"""The command line: `swagent run`, `collector`, `ask`, `profile`, `doctor`, `config`."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from types import ModuleType
    from typing import NoReturn

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
    "attach": _Command(
        ".attach", "the agent into a process that serves already (Python 3.14)",
        "Start the agent in a process that runs, and record its libraries, those too that it has imported.",
    ),
    "detach": _Command(
        ".detach", "the agent out of such a process again",
        "Leave the libraries of a process as they were before `swagent attach`, and stop its agent.",
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
    name, args = _read(given)
    try:
        status: int = _module_of(name).run(args)
        print(end="", flush=True)
    except BrokenPipeError:
        # the interpreter flushes stdout once more at its end, and would complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    return status


def _read(given: Sequence[str]) -> tuple[str, argparse.Namespace]:
    """The command and its arguments."""
    name = given[0] if given else ""
    if name not in _COMMANDS:
        _refuse(given)
    parser = _parser(name)
    # options may stand between the words, but for those of the command behind `run`
    read = parser.parse_args if name == "run" else parser.parse_intermixed_args
    return name, read(given[1:])


def _parser(name: str) -> argparse.ArgumentParser:
    """The parser of one command's arguments: the modules of the others are not imported, since an application waits for
    `swagent run` at each of its starts."""
    import argparse  # noqa: PLC0415, RUF100  (as above)

    parser = argparse.ArgumentParser(prog=f"swagent {name}", description=_COMMANDS[name].description)
    _module_of(name).add_arguments(parser)
    return parser


def _refuse(given: Sequence[str]) -> NoReturn:
    """Show all commands, or the mistake in what does not begin with one, and exit."""
    import argparse  # noqa: PLC0415, RUF100  (as above)

    parser = argparse.ArgumentParser(prog="swagent", description="The SkyWalking agent for asyncio and trio.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, command in _COMMANDS.items():
        commands.add_parser(name, help=command.help)
    parser.parse_args(given)
    parser.error(f"the command comes first: {' '.join(given)}")


def _module_of(command: str) -> ModuleType:
    from importlib import import_module  # noqa: PLC0415, RUF100  (as above)

    return import_module(_COMMANDS[command].module, __name__)
