"""The command line: `swagent run`, `swagent collector`, `swagent doctor`, `swagent config`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from ..collector import command as collector
from ..config import origins_of
from ..config.table import render_markdown, render_text
from ..errors import ConfigError
from . import doctor, run

# As a shell has it for a process that SIGPIPE ended, which Python ignores.
_BROKEN_PIPE = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    args = _parser().parse_args(arguments)
    try:
        status = _run(args)
        print(end="", flush=True)
    except BrokenPipeError:
        # the interpreter flushes stdout once more at its end, and would complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    return status


def _run(args: argparse.Namespace) -> int:
    if args.command == "collector":
        return collector.run(args)
    if args.command == "doctor":
        return doctor.run(args)
    if args.command == "config":
        return _show_settings(markdown=args.markdown)
    return run.run(args)


def _show_settings(*, markdown: bool) -> int:
    if markdown:
        print(render_markdown(), end="")
        return 0
    try:
        origins = origins_of(os.environ)
    except ConfigError as error:
        print(f"swagent config: {error}", file=sys.stderr)
        return 2
    print(render_text(origins))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="swagent", description="The SkyWalking agent for asyncio and trio.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    run.add_arguments(commands.add_parser(
        "run", help="start a command with the agent in its process",
        description="Start a Python command with the agent in a thread of its process, configured by the environment.",
    ))  # fmt: skip
    collector.add_arguments(commands.add_parser(
        "collector", help="a small collector for development, with a page in the browser",
        description="Take what agents report, keep it up to a bound, show it in the browser, and print every trace.",
    ))  # fmt: skip
    doctor.add_arguments(commands.add_parser(
        "doctor", help="show the effective configuration and try the transport",
        description="Show every setting and where it comes from, reach each collector, and send it one heartbeat.",
    ))  # fmt: skip
    config = commands.add_parser("config", help="the table of all settings")
    config.add_argument("--markdown", action="store_true", help="as the page of the documentation")
    return parser
