"""`swagent run -- COMMAND`: the command with the agent in its process."""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path

from ..config import Config, origins_of
from ..errors import ConfigError

_BOOTSTRAP = Path(__file__).parent / "bootstrap"
# Says to the first interpreter of the command that the agent is to be there, see `bootstrap/sitecustomize.py`.
_EXPECTED = "SWAGENT_RUN"
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*(?:\.exe)?")
# Seconds between two questions for profile tasks, where the collector is on this machine.
_LOCAL_INTERVAL = "2"
# Options of an interpreter that keep it from looking where the agent waits for it: -E, -I, -S, also joined, as in -sE.
_BLIND = re.compile(r"-[A-Za-z]*[EIS]")


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
        config, origins = Config.from_env(environ, folder=os.curdir), origins_of(environ)
        if "propagate_threads" not in origins:
            # who instruments nothing by hand carries no context by hand
            environ["SW_AGENT_PROPAGATE_THREADS"] = "true"
        if "get_profile_task_interval" not in origins and all(each.is_loopback for each in config.addresses):
            # a developer waits for the profile, and nobody else pays for the question
            environ["SW_AGENT_COLLECTOR_GET_PROFILE_TASK_INTERVAL"] = _LOCAL_INTERVAL
    except ConfigError as error:
        print(f"swagent run: {error}", file=sys.stderr)
        return 2
    problem = _why_without_agent(argv)
    if problem is not None:
        print(f"swagent run: {problem}", file=sys.stderr)
        return 2
    environ[_EXPECTED] = str(os.getpid())
    paths = [str(_BOOTSTRAP), *filter(None, [environ.get("PYTHONPATH")])]
    environ["PYTHONPATH"] = os.pathsep.join(paths)
    try:
        os.execvpe(argv[0], argv, environ)  # noqa: S606  (starting the user's command is the purpose)
    except OSError as error:
        print(f"swagent run: {argv[0]}: {error.strerror}", file=sys.stderr)
        return 127


def _why_without_agent(argv: list[str]) -> str | None:
    """Why the agent could not get into the command, as far as that can be seen beforehand."""
    if _PYTHON.fullmatch(os.path.basename(argv[0])) is None:
        return None
    for option in argv[1:]:
        if not option.startswith("-") or option.startswith(("-c", "-m", "--")) or option == "-":
            break
        if not option.startswith(("-W", "-X")) and _BLIND.match(option):
            return f"with {option} Python ignores its environment, and so the agent; leave {option} out"
    return None
