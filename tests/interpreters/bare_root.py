"""A bare Debian of its own below `.cache`, for the Pythons that are newer than most machines: no compiler, and of tools
`make` alone. What installs there installs on any machine.

It needs root and debootstrap, and is made once. Commands run there by chroot, in a mount namespace of their own: so
nothing stays mounted, however they end.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from interpreters.place import CACHE, REPOSITORY, Interpreter, UnavailableError

PACKAGES: Mapping[str, tuple[str, ...]] = {
    "3.14": ("python3.14", "python3.14-venv"),
    "3.15": ("python3.15", "python3.15-venv"),
    "PyPy": ("pypy3", "pypy3-venv"),
}
"""By Python the packages; the first one's name is the command's."""
_SUITE = "unstable"
_TOOLS = ("ca-certificates", "make")
# The machine's way to the network and to its package index; both files and variables may be missing.
_FILES = ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt")
_OWN_FILES = (".config/pip/pip.conf", ".pip/pip.conf")
_VARIABLES = re.compile(
    r"PIP_\w+|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE|(HTTPS?|NO|ALL)_PROXY|CI|PYTEST_ADDOPTS", re.IGNORECASE
)
_HOME = Path("/root")
_ENTER = """
mount --rbind /proc "$1/proc" && mount --rbind /dev "$1/dev" && mount --bind "$2" "$1$3" || exit
exec chroot "$1" sh -c 'cd "$0" && exec "$@"' "$4" "${@:5}"
"""
_LONGEST = 900  # seconds
# With the first process all others end, and what they mounted is gone.
_ALONE = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")


class BareRoot:
    """Made by `make()`."""

    repository, folder = Path("/swagent"), Path("/checks")

    def __init__(self, root: Path) -> None:
        self._root = root
        for each in (self.repository, self.folder, _HOME):
            self.outside(each).mkdir(parents=True, exist_ok=True)
        self._let_in()

    def outside(self, path: Path) -> Path:
        return self._root / path.relative_to("/")

    def run(self, command: Sequence[str], folder: Path, environ: Mapping[str, str]) -> int:
        paths = (self._root, REPOSITORY, self.repository, folder)
        enter = ["unshare", "--mount", "bash", "-c", _ENTER, "enter", *map(str, paths), *command]
        own = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(_HOME), "LANG": "C.UTF-8"}
        return subprocess.run(enter, env={**_passed_on(), **own, **environ}, check=False).returncode

    def find(self, version: str, *, has_headers: bool = False) -> Interpreter:
        """A Python, installed where it is missing.

        :param has_headers: whether extensions are compiled for it here
        :raises UnavailableError: when Debian does not have it
        """
        command, *_ = packages = PACKAGES[version]
        if has_headers:
            packages = (*packages, f"{command}-dev")
        interpreter = Interpreter(version, command, self)
        if not self.outside(Path("/usr/bin", command)).exists():
            install = f"apt-get install -y --no-install-recommends {' '.join(packages)} > /dev/null"
            if self.run(["sh", "-c", install], Path("/"), {"DEBIAN_FRONTEND": "noninteractive"}) != 0:
                raise UnavailableError(f"Debian {_SUITE} does not give {command}")
        return interpreter

    def _let_in(self) -> None:
        """Give it the machine's way to the network and to its package index."""
        named = [Path(each) for each in _passed_on().values() if each.startswith("/")]
        pairs = [(each, self.outside(each)) for each in (*map(Path, _FILES), *named)]
        pairs += [(Path.home() / each, self.outside(_HOME / each)) for each in _OWN_FILES]
        for source, target in pairs:
            if source.is_file():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)
            elif source.is_dir() and not target.exists():
                shutil.copytree(source, target)


def _passed_on() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if _VARIABLES.fullmatch(name)}


def make(name: str = "bare-root", tools: Sequence[str] = _TOOLS) -> BareRoot:
    """The root of the last time, or a new one: that takes a minute.

    :param name: of its folder below `.cache`
    :param tools: the packages that it has beside Debian's smallest set
    :raises UnavailableError: when this machine cannot make one
    """
    missing = [each for each in ("debootstrap", "unshare", "bash") if shutil.which(each) is None]
    if os.geteuid() != 0 or missing:
        raise UnavailableError(f"{missing[0]} is missing" if missing else "only root can make and enter a bare Debian")
    root = CACHE / name
    if not root.exists():
        _install(root, tools)
    bare = BareRoot(root)
    if bare.run(["true"], Path("/"), {}) != 0:
        raise UnavailableError("this machine's root may not mount")
    return bare


def _install(root: Path, tools: Sequence[str]) -> None:
    """Make it beside its place, and then move it there.

    debootstrap mounts `/proc` there. Killed, it would leave it so, and the next attempt would delete below it.
    """
    unfinished = root.with_name(f"{root.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    options = ["--variant=minbase", f"--include={','.join(tools)}"]
    command = [*_ALONE, "debootstrap", *options, _SUITE, str(unfinished), *_mirror()]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LONGEST, check=False)
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(f"no Debian {_SUITE} within {_LONGEST} s") from error
    if done.returncode != 0:
        said = (done.stdout + done.stderr).strip().splitlines() or [f"status {done.returncode}"]
        raise UnavailableError(f"no Debian {_SUITE}: {said[-1]}")
    unfinished.rename(root)


def _mirror() -> list[str]:
    """Where this machine has its own Debian from; nothing where it is another system: debootstrap knows one."""
    if shutil.which("apt-get") is None:
        return []
    asked = ["apt-get", "indextargets", "--format", "$(ORIGIN) $(LABEL) $(REPO_URI)", "Created-By: Packages"]
    lines = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.splitlines()
    found = [line.split()[2] for line in lines if line.startswith("Debian Debian ")]
    return found[:1]
