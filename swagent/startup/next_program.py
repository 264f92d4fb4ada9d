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
import sys

from ..built_in import in_place_of, unseen
from .import_hook import when_imported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Call = Callable[..., Any]

_NAME = "PYTHONPATH"
# Functions of `os` with an environment, and where it is among their arguments.
_WITH_ENVIRONMENT = {"execve": 2, "posix_spawn": 2, "posix_spawnp": 2}


def lead(folder: str) -> None:
    """Have this folder in front of others with a `sitecustomize`, wherever it is on the path of a program to come."""
    _wrap(os, "execv", _in_own_environment(os.execv, folder))
    for name, at in _WITH_ENVIRONMENT.items():
        original = getattr(os, name, None)
        if original is not None:  # Windows has no posix_spawn
            _wrap(os, name, _leading(original, at, folder))
            if original in os.supports_fd:
                os.supports_fd.add(getattr(os, name))

    def hook(module: Any) -> None:
        # not `__init__`, which warns of a missing encoding in the name of the first frame outside of its module
        begin = _leading_child(module.Popen._execute_child, folder)  # noqa: SLF001
        _wrap(module.Popen, "_execute_child", begin)

    when_imported("subprocess", hook)


def with_first(path: str, folder: str) -> str | None:
    """A path with a folder in front; None: it is not on it, or no other `sitecustomize` comes before it."""
    entries = path.split(os.pathsep)
    if folder not in entries or not any(_has_site(each) for each in entries[: entries.index(folder)]):
        return None
    return os.pathsep.join([folder, *(each for each in entries if each != folder)])


def _has_site(folder: str) -> bool:
    found = (os.path.join(folder, "sitecustomize.py"), os.path.join(folder, "sitecustomize", "__init__.py"))
    return any(map(os.path.isfile, found))


def _wrap(owner: Any, name: str, replacement: Any) -> None:
    """Put a function in the place of another one, and under its name, also in the module that it is from: pickle looks
    for it there."""
    original: Any = getattr(owner, name)
    for attribute in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(replacement, attribute, getattr(original, attribute))
    replacement.__annotations__ = getattr(original, "__annotations__", {})
    replacement.__dict__.update(getattr(original, "__dict__", {}))
    replacement.__wrapped__ = original
    replacement = in_place_of(original, unseen(replacement))
    origin = sys.modules.get(original.__module__)
    if origin is not None and getattr(origin, name, None) is original:
        setattr(origin, name, replacement)
    setattr(owner, name, replacement)


def _in_own_environment(call: Call, folder: str) -> Call:
    """Around a function that becomes a program in the environment of this process."""

    def become(*args: Any, **kwargs: Any) -> Any:
        before = os.environ.get(_NAME, "")
        path = _safely(with_first, before, folder)
        if path is None:
            return call(*args, **kwargs)
        # the environment of the process alone: `os.environ` stays as the application has it
        os.putenv(_NAME, path)
        try:
            return call(*args, **kwargs)
        finally:
            os.putenv(_NAME, before)

    return become


def _leading_child(call: Call, folder: str) -> Call:
    """Like `_leading`, around `Popen._execute_child`. A replacement by another library stays as it is."""
    names = getattr(getattr(call, "__code__", None), "co_varnames", ())
    return _leading(call, names.index("env"), folder, is_needed=False) if "env" in names else call


def _leading(call: Call, at: int, folder: str, *, is_needed: bool = True) -> Call:
    """Around a function that gets an environment, by position or as `env`.

    :param is_needed: whether there is no call without one; otherwise that of this process takes its place
    """

    def led(*args: Any, **kwargs: Any) -> Any:
        given = args[at] if len(args) > at else kwargs.get("env")
        environ = os.environ if given is None and not is_needed else given
        changed = _safely(_changed, environ, folder) if environ is not None else None
        if changed is None:
            return call(*args, **kwargs)
        if len(args) > at:
            return call(*args[:at], changed, *args[at + 1 :], **kwargs)
        return call(*args, **{**kwargs, "env": changed})

    return led


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


def _safely(function: Call, *args: Any) -> Any:
    """Call a function of ours inside the application's call. None: it failed, and the call stays as it was made."""
    try:
        return function(*args)
    except Exception as error:  # noqa: BLE001, RUF100  (the application's objects may have a will of their own)
        _note_failure(error)
        return None


def _note_failure(error: Exception) -> None:
    logging: Any = sys.modules.get("logging")
    if logging is not None:
        logging.getLogger("swagent").warning("a program may start without the agent: %r", error)
