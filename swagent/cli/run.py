"""`swagent run -- COMMAND`: the command with the agent in its process."""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path

from ..agent_log import log
from ..config import Config, origins_of
from ..errors import ConfigError
from ..runtime.interpreter_options import read_command

_BOOTSTRAP = Path(__file__).parent / "bootstrap"
# Says to the first interpreter of the command that the agent is to be there, see `bootstrap/sitecustomize.py`.
_EXPECTED = "SWAGENT_RUN"
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*(?:\.exe)?")
# Seconds between two polls for profile tasks, where the collector is on this machine.
_LOCAL_INTERVAL = "2"
# Options of an interpreter that keep it from looking where the agent waits for it.
_BLIND = frozenset("EIS")
# As a shell has it for a command that is not there, and for one that is there and cannot be started.
_NOT_FOUND, _NOT_STARTED = 127, 126


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
            # a user who instruments nothing by hand does not carry contexts over by hand either
            environ["SW_AGENT_PROPAGATE_THREADS"] = "true"
        if "get_profile_task_interval" not in origins and all(each.is_loopback for each in config.addresses):
            # a developer waits for the profile, and the requests cost nothing on a local collector
            environ["SW_AGENT_COLLECTOR_GET_PROFILE_TASK_INTERVAL"] = _LOCAL_INTERVAL
    except ConfigError as error:
        print(f"swagent run: {error}", file=sys.stderr)
        return 2
    # here, and not in the processes of the command, of which there may be many
    log.setLevel(config.log_level.upper())
    config.warn_of_default_name()
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
        return _say_not_started(argv, error, environ.get("PATH"))


def _say_not_started(argv: list[str], error: OSError, path: str | None) -> int:
    """Say why a command could not be started; returns the exit status of a shell."""
    import shutil  # noqa: PLC0415, RUF100  (an application waits for each import here)

    name = argv[0]
    is_there = os.path.exists(name) if os.path.dirname(name) else shutil.which(name, os.F_OK, path) is not None
    advice = ""
    if is_there and isinstance(error, FileNotFoundError):
        advice = "; the interpreter that its first line names is not there"
    elif is_there and not os.path.isdir(name):
        advice = f"; make it executable (chmod +x {name}), or name its interpreter: swagent run -- python {name}"
    print(f"swagent run: {name}: {error.strerror}{advice}", file=sys.stderr)
    return _NOT_STARTED if is_there else _NOT_FOUND


def _why_without_agent(argv: list[str]) -> str | None:
    """Why the agent could not get into the command, as far as that can be seen beforehand."""
    if _PYTHON.fullmatch(os.path.basename(argv[0])) is None:
        return None
    option = next((word for letter, word in read_command(argv).options if letter in _BLIND), None)
    return option and f"with {option} Python ignores its environment, and so the agent; leave {option} out"
