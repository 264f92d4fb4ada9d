"""The delivery of each transport with the oldest packages that the metadata allows. The nightly's `newest` has the
newest.

    python tests/floors.py

uv takes the lower bound of what `pyproject.toml` names. The bounds of what stands below that are the libraries' own,
and not all of them are true, so those that a transport touches are named here. The environment is kept in `.cache`.
Exit status 1: a transport does not deliver, or the packages cannot be installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from interpreters.place import CACHE, REPOSITORY, Machine

# Old versions have wheels for old Pythons.
_PYTHON = "3.10"
_TOOLS = ("pytest==8.3.1", "pytest-timeout==2.3.1")
# What grpclib allows: its oldest h2, and the last one before h2 kept what arrives in another form.
_BELOW = (("h2==3.1.0",), ("h2==4.2.0",))


def main() -> int:
    """Try each set of packages; the exit status."""
    return max(_try(each) for each in _BELOW)


def _try(below: Sequence[str]) -> int:
    print(f"=== the oldest packages, and {', '.join(below)}", flush=True)
    folder = CACHE / "floors" / "-".join(below)
    shutil.rmtree(folder, ignore_errors=True)
    uv = shutil.which("uv", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if uv is None:
        sys.exit("uv is needed, which alone installs the oldest versions: pip install uv")
    python = str(folder / "bin" / "python")
    subprocess.run([uv, "venv", "-q", "-p", Machine().find(_PYTHON).command, str(folder)], check=True)
    asked = ["--resolution", "lowest-direct", "-e", ".[all,kafka]", *_TOOLS, *below]
    subprocess.run([uv, "pip", "install", "-q", "-p", python, *asked], cwd=REPOSITORY, check=True)
    # without the settings of the tests: an old package may warn of itself
    command = ["-m", "pytest", "-q", "-c", os.devnull, "--rootdir", ".", "-p", "no:cacheprovider", "tests/delivery"]
    return subprocess.run(
        [python, *command], cwd=REPOSITORY, env={**os.environ, "PYTHONPATH": "tests"}, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
