"""The kind of process that an interpreter is, by its command line."""

from __future__ import annotations

from .interpreter_options import read_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# Programs that serve an application, or start processes that do.
_SERVERS = frozenset({
    "celery", "daphne", "django-admin", "fastapi", "flask", "granian", "gunicorn", "hypercorn", "litestar", "locust",
    "manage", "quart", "sanic", "uvicorn", "waitress-serve",
})  # fmt: skip
# They put a folder of their own on the path of a command and become it.
_WRAPPERS = frozenset({"ddtrace-run", "newrelic-admin", "opentelemetry-instrument"})
# They work on files and packages.
_HELPERS = frozenset({"compileall", "ensurepip", "pip", "pip3", "py_compile", "venv", "virtualenv"})
# The commands of multiprocessing's own processes: a process that forks children, a child, and one that records
# nothing.
_CHILDREN = ("from multiprocessing.forkserver import", "from multiprocessing.spawn import")
_RESOURCE_TRACKER = "from multiprocessing.resource_tracker import main"


def is_helper(command: Sequence[str]) -> bool:
    """Whether a process runs none of the application's code.

    :param command: how its interpreter was called, as `sys.orig_argv` has it
    """
    return any(_RESOURCE_TRACKER in each for each in command) or read_command(command).program in _HELPERS


def is_child(command: Sequence[str]) -> bool:
    """Whether a process is one of those that multiprocessing starts."""
    return any(start in each for each in command for start in _CHILDREN)


def is_script(command: Sequence[str]) -> bool:
    """Whether a process runs the application's code and serves nothing, as far as its command says."""
    # without a command Python is a part of a server, as in uWSGI and mod_wsgi, which fork on their own
    if not command or is_child(command):
        return False
    return read_command(command).program not in _SERVERS | _WRAPPERS
