"""`swagent run -- COMMAND`: the command with the agent in its process."""

from __future__ import annotations

import os
import sys

from ..startup import settings
from ..startup.interpreter_options import read_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

_BOOTSTRAP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bootstrap")
# Says to the first interpreter of the command that the agent is to be there, see `bootstrap/sitecustomize.py`.
_EXPECTED = "SWAGENT_RUN"
# Of the settings that differ where the application has no line of ours.
_VARIABLES = {"propagate_threads": settings.PROPAGATE_THREADS, "get_profile_task_interval": settings.PROFILE_INTERVAL}
# Options of an interpreter that keep it from looking where the agent waits for it.
_BLIND = frozenset("EIS")
# As a shell has it for a command that is not there, and for one that is there and cannot be started.
_NOT_FOUND, _NOT_STARTED = 127, 126
# The options of this command, with the variables that they set.
_OPTIONS = {
    "--backend": "SW_AGENT_BACKEND",
    "--protocol": settings.PROTOCOL,
    "--compatibility": settings.COMPATIBILITY,
}


class Run:
    """What is to be run, and the variables that options set for it."""

    def __init__(self, argv: list[str], variables: dict[str, str]) -> None:
        self._argv = argv
        self._variables = variables

    def run(self) -> int:
        """Become the command. Returns an exit status only if that is impossible."""
        argv = self._argv
        if not argv:
            print("swagent run: no command given; try: swagent run -- python app.py", file=sys.stderr)
            return 2
        environ = {**os.environ, **self._variables}
        problem = _prepare(environ) or _why_without_agent(argv)
        if problem is not None:
            print(f"swagent run: {problem}", file=sys.stderr)
            return 2
        environ[_EXPECTED] = str(os.getpid())
        paths = [_BOOTSTRAP, *filter(None, [environ.get("PYTHONPATH")])]
        environ["PYTHONPATH"] = os.pathsep.join(paths)
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()  # what a `sitecustomize` has printed here would end with this program
        try:
            os.execvpe(argv[0], argv, environ)  # noqa: S606  (starting the user's command is the purpose)
        except OSError as error:
            return _say_not_started(argv, error, environ.get("PATH"))


def read_plainly(words: Sequence[str]) -> Run | None:
    """The command line, if it is of the form that is documented; None: argparse reads it, and takes its time."""
    variables: dict[str, str] = {}
    left = [*words]
    while left and left[0] != "--":
        name, equals, value = left.pop(0).partition("=")
        if name not in _OPTIONS or not (equals or left):
            return None
        variables[_OPTIONS[name]] = value if equals else left.pop(0)
        if not variables[_OPTIONS[name]] or variables[_OPTIONS[name]].startswith("-"):
            return None
    return Run(left[1:], variables) if left else None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    import argparse  # noqa: PLC0415, RUF100  (an application waits for each import here)

    parser.add_argument("--backend", help="event loop of the agent's thread: auto, asyncio, uvloop or trio")
    parser.add_argument("--protocol", help="transport: grpc, or another installed one")
    parser.add_argument("--compatibility", help="official: names, tags and defaults of the official agent")
    parser.add_argument("argv", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="the command and its arguments")


def run(args: argparse.Namespace) -> int:
    """Become the command. Returns an exit status only if that is impossible."""
    argv: list[str] = args.argv[1:] if args.argv[:1] == ["--"] else args.argv
    given = {variable: getattr(args, option[2:]) for option, variable in _OPTIONS.items()}
    return Run(argv, {name: value for name, value in given.items() if value}).run()


def _prepare(environ: dict[str, str]) -> str | None:
    """Check the settings, and set what is not set for the command. Returns what is wrong with them.

    What they say of themselves is said here, and not in the processes of the command, of which there may be many.
    """
    ours = settings.settings_of(environ)
    if not settings.are_surely_usable(ours):
        return _prepare_by_configuration(environ)
    warning = settings.warning_of_default_name(ours)
    if warning and sys.stderr is not None:
        # where `logging` would write it, which takes a while to import
        sys.stderr.write(f"{warning}\n")
        sys.stderr.flush()
    environ.update(settings.defaults_without_code(ours))
    return None


def _prepare_by_configuration(environ: dict[str, str]) -> str | None:
    """The same by the configuration itself, which says what is amiss."""
    from ..agent_log import log  # noqa: PLC0415, RUF100  (an application waits for each import here)
    from ..config import Config  # noqa: PLC0415, RUF100
    from ..config.without_code import missing_without_code  # noqa: PLC0415, RUF100
    from ..errors import ConfigError  # noqa: PLC0415, RUF100

    try:
        config = Config.from_env(environ, folder=os.curdir)
        for name, value in missing_without_code(config, environ).items():
            environ[_VARIABLES[name]] = str(value).lower()
    except ConfigError as error:
        return str(error)
    log.setLevel(config.log_level.upper())
    config.warn_of_default_name()
    return None


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
    if not _is_python(os.path.basename(argv[0])):
        return None
    option = next((word for letter, word in read_command(argv).options if letter in _BLIND), None)
    return option and f"with {option} Python ignores its environment, and so the agent; leave {option} out"


def _is_python(program: str) -> bool:
    kind = program.removesuffix(".exe")
    return any(kind.startswith(name) and not kind[len(name) :].strip("0123456789.") for name in ("python", "pypy"))
