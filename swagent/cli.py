"""The command line: `swagent run`, `swagent collector`, `swagent doctor`, `swagent config`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from . import doctor
from ._option_table import render_markdown, render_text
from .collector import command as collector
from .config import Config
from .errors import ConfigError

_BOOTSTRAP = Path(__file__).parent / "bootstrap"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    args = _parser().parse_args(arguments)
    if args.command == "collector":
        return collector.run(args)
    if args.command == "doctor":
        return doctor.run(args)
    if args.command == "config":
        print(render_markdown() if args.markdown else render_text(), end="" if args.markdown else "\n")
        return 0
    return _run(args)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="swagent", description="The SkyWalking agent for asyncio and trio.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    run = commands.add_parser(
        "run", help="start a command with the agent in its process",
        description="Start a Python command with the agent in a thread of its process, configured by the environment.",
    )  # fmt: skip
    run.add_argument("--backend", help="event loop of the agent's thread: auto, asyncio, uvloop or trio")
    run.add_argument("--protocol", help="transport: grpc, or another installed one")
    run.add_argument("argv", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="the command and its arguments")
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


def _run(args: argparse.Namespace) -> int:
    argv: list[str] = args.argv[1:] if args.argv[:1] == ["--"] else args.argv
    if not argv:
        print("swagent run: no command given; try: swagent run -- python app.py", file=sys.stderr)
        return 2
    environ = dict(os.environ)
    if args.backend:
        environ["SW_AGENT_BACKEND"] = args.backend
    if args.protocol:
        environ["SW_AGENT_PROTOCOL"] = args.protocol
    try:
        Config.from_env(environ)
    except ConfigError as error:
        print(f"swagent run: {error}", file=sys.stderr)
        return 2
    paths = [str(_BOOTSTRAP), *filter(None, [environ.get("PYTHONPATH")])]
    environ["PYTHONPATH"] = os.pathsep.join(paths)
    try:
        os.execvpe(argv[0], argv, environ)  # noqa: S606  (starting the user's command is the purpose)
    except OSError as error:
        print(f"swagent run: {argv[0]}: {error.strerror}", file=sys.stderr)
        return 127
