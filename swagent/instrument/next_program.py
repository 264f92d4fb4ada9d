"""The agent in the program that a process under `swagent run` becomes or starts, even if another program wraps the
command.

The agent comes into an interpreter by a folder on `PYTHONPATH` with a `sitecustomize`, of which Python imports only the
first one. Programs that wrap a command, as `opentelemetry-instrument` does, put a folder of their own in front and
become the command: the agent would be missing without any message. So its folder is put in front again where one with
another `sitecustomize` has come before it. Both are imported, the other one first: see
`cli/bootstrap/sitecustomize.py`.

If other code has removed the agent's folder from the path, it stays removed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from wrapt import register_post_import_hook

from .call import safely
from .patches import Make, Patches
from .rewriting import rewriting_argument

_NAME = "PYTHONPATH"
_Call = Callable[..., Any]
# Functions of `os` with an environment, and where it is among their arguments.
_WITH_ENVIRONMENT = {"execve": 2, "posix_spawn": 2, "posix_spawnp": 2}
_POPEN_ENVIRONMENT = 11  # with the object itself


def lead(folder: str) -> None:
    """Have this folder in front of others with a `sitecustomize`, wherever it is on the path of a program to come."""
    patches = Patches()
    patches.wrap(os, "execv", lambda call: _in_own_environment(call, folder))
    for name, at in _WITH_ENVIRONMENT.items():
        if hasattr(os, name):  # Windows has no posix_spawn
            original = getattr(os, name)
            patches.wrap(os, name, _leading(at, folder))
            if original in os.supports_fd:
                os.supports_fd.add(getattr(os, name))

    def hook(module: Any) -> None:
        patches.wrap(module.Popen, "__init__", _leading(_POPEN_ENVIRONMENT, folder, is_needed=False))

    register_post_import_hook(hook, "subprocess")


def with_first(path: str, folder: str) -> str | None:
    """A path with a folder in front; None: it is not on it, or no other `sitecustomize` comes before it."""
    entries = path.split(os.pathsep)
    if folder not in entries or not any(_has_site(each) for each in entries[: entries.index(folder)]):
        return None
    return os.pathsep.join([folder, *(each for each in entries if each != folder)])


def _has_site(folder: str) -> bool:
    found = (os.path.join(folder, "sitecustomize.py"), os.path.join(folder, "sitecustomize", "__init__.py"))
    return any(map(os.path.isfile, found))


def _in_own_environment(call: _Call, folder: str) -> _Call:
    """Around a function that becomes a program in the environment of this process."""

    def become(*args: Any, **kwargs: Any) -> Any:
        before = os.environ.get(_NAME, "")
        path = safely(with_first, before, folder)
        if path is None:
            return call(*args, **kwargs)
        # the environment of the process alone: `os.environ` stays as the application has it
        os.putenv(_NAME, path)
        try:
            return call(*args, **kwargs)
        finally:
            os.putenv(_NAME, before)

    return become


def _leading(at: int, folder: str, *, is_needed: bool = True) -> Make:
    """For `Patches.wrap`: a function that gets an environment, by position or as `env`.

    :param is_needed: whether there is no call without one; otherwise that of this process takes its place
    """

    def lead_in(given: Any) -> Any:
        environ = os.environ if given is None and not is_needed else given
        changed = _changed(environ, folder) if environ is not None else None
        return given if changed is None else changed

    return rewriting_argument(at, "env", lead_in)


def _changed(environ: Mapping[Any, Any], folder: str) -> dict[Any, Any] | None:
    """A copy of an environment, with the folder in front; None: it may stay as it is."""
    # plain, since `os.environ` raises where bytes are looked for, and `os.environb` where text is
    copy = dict(environ)
    for name in (_NAME, os.fsencode(_NAME)):
        if name in copy:
            path = with_first(os.fsdecode(copy[name]), folder)
            if path is not None:
                return {**copy, name: path if isinstance(name, str) else os.fsencode(path)}
    return None
