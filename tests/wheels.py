"""Builds the distribution of the accelerator: the sdist, and from it a wheel for each Python that is at hand.

    make wheels                              dist/swagent_native-*.whl
    python tests/wheels.py --only 3.12 3.14

3.10 to 3.13 are looked for on the path and in pyenv, the newer ones are taken from a bare Debian with a compiler, as
`pythons.py` has one without. Each wheel is then installed where there is no compiler, and has to record the same bytes
as Python. A release builds them for other platforms by cibuildwheel, which reads its settings in
`swagent/native/pyproject.toml`. Exit status 1: something failed that could be tried.
"""

from __future__ import annotations

import argparse
import functools
import shutil
import sys
import tempfile
from pathlib import Path

from interpreters import bare_root
from interpreters.environment import PIP, CommandError, install, make_environment, run
from interpreters.place import REPOSITORY, Interpreter, Machine, UnavailableError
from native.frozen_clock import build as build_clock

VERSIONS = ("3.10", "3.11", "3.12", "3.13", "3.14", "3.15")
_SOURCES = REPOSITORY / "swagent" / "native"
_DIST = REPOSITORY / "dist"
_COMPILER = ("ca-certificates", "gcc", "libc6-dev")
_CASES = 300


def main() -> int:
    """Build what is asked for; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=VERSIONS, default=VERSIONS, metavar="PYTHON")
    options = parser.parse_args()
    sdist = build_sdist()
    said, has_failed = [f"sdist   {sdist.name}"], False
    for version in options.only:
        print(f"=== {version}", flush=True)
        try:
            wheel = build_wheel(version, sdist)
            try_wheel(version, wheel)
            said.append(f"{version:<7} {wheel.name}: records the same as Python")
        except UnavailableError as reason:
            said.append(f"{version:<7} not available: {reason}")
        except CommandError as error:
            said.append(f"{version:<7} FAILED: {error}")
            has_failed = True
    print("\n".join(["", *said]))
    return int(has_failed)


def build_sdist() -> Path:
    """The sources as they are published.

    :raises CommandError: when it cannot be built
    """
    shutil.rmtree(_DIST, ignore_errors=True)
    _DIST.mkdir()
    python = Interpreter("", sys.executable, Machine())
    with tempfile.TemporaryDirectory() as folder:
        tools = make_environment(python, Path(folder, "venv"))
        install(tools, "build")
        # of a copy: what was built there before stays out
        copy = Path(folder, "sources")
        shutil.copytree(_SOURCES, copy, ignore=shutil.ignore_patterns("build", "*.egg-info", "*.so", "__pycache__"))
        run(tools, "-m", "build", "--sdist", "--outdir", str(_DIST), str(copy))
    (sdist,) = _DIST.glob("swagent_native-*.tar.gz")
    return sdist


def build_wheel(version: str, sdist: Path) -> Path:
    """The wheel for one Python.

    :raises UnavailableError: when it is nowhere
    :raises CommandError: when it cannot be built
    """
    python = _find(version, has_compiler=True)
    python = make_environment(python, python.place.folder / f"venv-{version}-wheel")
    folder = python.place.repository / "dist"
    before = set(_DIST.glob("*.whl"))
    run(python, *PIP, "wheel", "--no-deps", "--wheel-dir", str(folder), str(folder / sdist.name))
    (wheel,) = set(_DIST.glob("*.whl")) - before
    return wheel


def try_wheel(version: str, wheel: Path) -> None:
    """Install it, and compare what it records with what Python does.

    :raises CommandError: when it does not install, or not the same is recorded
    """
    python = _find(version, has_compiler=False)
    place = python.place
    python = make_environment(python, place.folder / f"venv-{version}-native")
    install(python, "-e", f"{place.repository}[grpc,trio]")
    install(python, "--force-reinstall", "--no-deps", str(place.repository / "dist" / wheel.name))
    clock = build_clock(place.outside(place.folder)).name
    cases = ["--count", str(_CASES), "--seed", "1", "--loop", "asyncio", "--clock", str(place.folder / clock)]
    run(python, "-m", "native.run", *cases, environ={"PYTHONPATH": str(place.repository / "tests")})


def _find(version: str, *, has_compiler: bool) -> Interpreter:
    """:raises UnavailableError: when it is nowhere"""
    if version not in bare_root.PACKAGES:
        return Machine().find(version)
    return _root(has_compiler).find(version, has_headers=has_compiler)


@functools.cache
def _root(has_compiler: bool) -> bare_root.BareRoot:
    return bare_root.make("build-root", _COMPILER) if has_compiler else bare_root.make()


if __name__ == "__main__":
    sys.exit(main())
