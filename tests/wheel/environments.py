"""Environments that hold the built wheel and what it asks for, and nothing of the repository."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
EXTRAS = ("grpc", "http", "kafka", "trio", "collector")
_PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check")
_BOUND = re.compile(r"(?P<name>[\w-]+)(\[[\w,-]+\])?(>=|==)(?P<lowest>[\w.]+)")


def build_wheel(folder: Path) -> Path:
    """Build the wheel as a release does."""
    _run([sys.executable, *_PIP, "wheel", "--no-deps", "-w", str(folder), str(ROOT)], folder)
    (wheel,) = folder.glob("swagent-*.whl")
    return wheel


class Environment:
    """A virtual environment with the wheel in it."""

    def __init__(self, folder: Path, wheel: Path, extras: str, constraints: Iterable[str] = ()) -> None:
        """:param constraints: versions to hold to, as `name==version`"""
        self.folder = folder
        _run([sys.executable, "-m", "venv", str(folder)], folder.parent)
        limits = folder / "constraints.txt"
        limits.write_text("\n".join(constraints))
        self.run([*_PIP, "install", "-c", str(limits), f"{wheel}{extras}"])

    def run(self, arguments: list[str], environ: Mapping[str, str] | None = None) -> str:
        """Run its Python in its own empty folder; returns what was printed."""
        return _run([str(self.folder / "bin" / "python"), *arguments], self.folder, environ)


def lowest_versions() -> list[str]:
    """For each dependency the lowest version that pyproject.toml allows."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"], *(each for name in EXTRAS for each in extras[name])]
    bounds = [_BOUND.match(each) for each in needed]
    return sorted({f"{bound['name']}=={bound['lowest']}" for bound in bounds if bound is not None})


def _run(command: list[str], folder: Path, environ: Mapping[str, str] | None = None) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SW_"))}
    done = subprocess.run(
        command, cwd=folder, env={**kept, **(environ or {})}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command} failed:\n{done.stdout}{done.stderr}"
    return done.stdout
