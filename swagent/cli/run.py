"""`swagent run -- COMMAND`: the command with the agent in its process."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from ..config import Config
from ..errors import ConfigError

_BOOTSTRAP = Path(__file__).parent / "bootstrap"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    parser.add_argument("--backend", help="event loop of the agent's thread: auto, asyncio, uvloop or trio")
    parser.add_argument("--protocol", help="transport: grpc, or another installed one")
    parser.add_argument("argv", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="the command and its arguments")


def run(args: argparse.Namespace) -> int:
    """Become the command. Returns an exit status only if that is impossible."""
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
