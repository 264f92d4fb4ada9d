"""Having a running process do something: Python 3.14 runs a script in it, and the answer comes through a socket."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..startup.settings import VENDORED

_NEEDED = (3, 14)
# Seconds that a process has to run a script, which it does between two steps of its main thread, and to answer.
PATIENCE = 20.0
# Run in the namespace of the program's own `__main__`, in which it leaves nothing.
_SCRIPT = "exec(compile({source!r}, '<swagent>', 'exec'), {{'__name__': 'swagent_order'}})\n"
_SOURCE = """\
import json, sys
order = json.loads({order!r})
try:
    if order["folder"] and order["folder"] not in sys.path:
        sys.path.append(order["folder"])
    from swagent.attached import obey
except ImportError as error:
    import socket
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(order["answer"])
        said = "swagent cannot be imported there: " + str(error) + {way_out!r}
        connection.sendall(json.dumps({{"error": said}}).encode())
else:
    obey(order)
"""
_WAY_OUT = "; install it into the environment of the process, or attach from the folder of `make inject`"
_PYTHON = re.compile(r"/(?:lib)?python(3)\.(\d+)[^/]*$")


class RemoteError(Exception):
    """The process does not do it; the text says why, in a sentence."""


def have_done(pid: int, order: Mapping[str, Any]) -> dict[str, Any]:
    """Have a process obey an order of `swagent.attached`, and return its answer. Waits for up to twenty seconds.

    :raises RemoteError: when it does not
    """
    execute = getattr(sys, "remote_exec", None)
    if execute is None:
        raise RemoteError(f"Python 3.14 or later is needed for it, and this is {_named(sys.version_info)}")
    try:
        _check_version(pid)
        return _have_done(execute, pid, order)
    except (OSError, OverflowError) as error:
        raise RemoteError(f"process {pid} cannot be reached: {error}") from None


def _have_done(execute: Any, pid: int, order: Mapping[str, Any]) -> dict[str, Any]:
    # by which the process connects: no other user is to reach what is in there
    folder = Path(tempfile.mkdtemp(prefix="swagent-"))
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            answer = folder / "answer"
            listener.bind(str(answer))
            listener.listen(1)
            listener.settimeout(PATIENCE)
            _write_script(folder, {**order, "answer": str(answer), "folder": _own_folder()})
            _give(folder, pid)
            _execute(execute, pid, folder / "script.py")
            try:
                said = _read(listener, pid)
            except BaseException:
                # it may come to the script later, and any user can make a file of this name once ours is gone
                with suppress(Exception):
                    execute(pid, str(Path(__file__).with_name("nothing.py")))
                raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if "error" in said:
        raise RemoteError(said["error"])
    return said


def _own_folder() -> str:
    """The folder of swagent, where nothing of it is in an application's way: that for injection."""
    return str(Path(__file__).resolve().parents[2]) if VENDORED else ""


def _write_script(folder: Path, order: Mapping[str, Any]) -> None:
    source = _SOURCE.format(order=json.dumps(order), way_out=_WAY_OUT)
    (folder / "script.py").write_text(_SCRIPT.format(source=source), "utf-8")


def _give(folder: Path, pid: int) -> None:
    """Let the process reach what is in the folder. Where we are root, its user may be another one."""
    try:
        owner = os.stat(f"/proc/{pid}")
    except OSError:
        return  # no Linux: whoever may not read it gets no answer
    if owner.st_uid != os.geteuid():
        with suppress(PermissionError):
            # the folder last, since its owner may exchange what is in there
            for each in (*folder.iterdir(), folder):
                os.chown(each, owner.st_uid, owner.st_gid, follow_symlinks=False)


def _execute(execute: Any, pid: int, script: Path) -> None:
    try:
        execute(pid, str(script))
    except ProcessLookupError:
        raise RemoteError(f"there is no process {pid}") from None
    except PermissionError:
        raise RemoteError(
            f"the system does not let this user look into process {pid}: be its user, or root, or have CAP_SYS_PTRACE, "
            "and see kernel.yama.ptrace_scope"
        ) from None
    except (RuntimeError, OSError) as error:
        if "not enabled" in str(error):
            raise RemoteError(
                f"process {pid} forbids it by PYTHON_DISABLE_REMOTE_DEBUG or -X disable-remote-debug"
            ) from None
        if isinstance(error.__cause__, PermissionError) or "ermission" in f"{error} {error.__cause__}":
            raise RemoteError(f"the system does not let this user look into process {pid}") from None
        raise RemoteError(f"process {pid} is no Python that can be reached: {error}") from None


def _check_version(pid: int) -> None:
    """Say which version a process has, where it is another one: Python itself says only that it does not work.

    :raises RemoteError: when it is
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        raise RemoteError(f"there is no process {pid}") from None
    except PermissionError:
        pass  # it is there
    found = _version_of(pid)
    if found is not None and found < _NEEDED:
        raise RemoteError(f"process {pid} runs {_named(found)}; 3.14 or later is needed")
    if found is not None and found != sys.version_info[:2]:
        raise RemoteError(f"process {pid} runs {_named(found)}, and this is {_named(sys.version_info)}: use that one")


def _version_of(pid: int) -> tuple[int, int] | None:
    """The version of the Python of a process, by the names of its program and its library; None: not known."""
    names: list[str] = []
    with suppress(OSError):
        names.append(os.readlink(f"/proc/{pid}/exe"))
    with suppress(OSError):
        names += Path(f"/proc/{pid}/maps").read_text("utf-8", "replace").splitlines()
    for each in names:
        if (match := _PYTHON.search(each)) is not None:
            return int(match[1]), int(match[2])
    return None


def _named(version: Any) -> str:
    return f"Python {version[0]}.{version[1]}"


def _read(listener: socket.socket, pid: int) -> dict[str, Any]:
    try:
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(PATIENCE)
            with connection.makefile("rb") as file:
                return json.loads(file.read())  # type: ignore[no-any-return]
    except (TimeoutError, ValueError, OSError):
        raise RemoteError(
            f"process {pid} has not answered in {PATIENCE:.0f} seconds: its main thread may wait in a call of the "
            "system, or it does not see this file system"
        ) from None
