"""The Python with the official agent and the libraries of the programs, made once and kept in the user's cache.

It has the versions of the libraries that this environment has: what is compared is the agents.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

# It looks for the plugins' packages by pkg_resources, which setuptools has given up. 1.3.0 lacks generated modules.
_OFFICIAL = ("apache-skywalking==1.2.0", "grpcio==1.71.0", "setuptools<81")
_LIBRARIES = (
    "aiohttp", "bottle", "Django", "falcon", "fastapi", "Flask", "httpx", "pymongo", "redis", "requests", "starlette",
    "tornado", "urllib3", "uvicorn", "Werkzeug",
)  # fmt: skip


def official_python() -> Path:
    """Its interpreter. Skips where it cannot be made."""
    packages = [*_OFFICIAL, *(f"{name}=={version(name)}" for name in _LIBRARIES)]
    digest = hashlib.sha256(" ".join([sys.version, *packages]).encode()).hexdigest()[:12]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "swagent-tests"
    folder = cache / f"official-agent-{digest}"
    python, ready = folder / "bin" / "python", folder / "ready"
    cache.mkdir(parents=True, exist_ok=True)
    with Path(f"{folder}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # given back by close
        if not ready.exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
            install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
            done = subprocess.run(install, capture_output=True, text=True, check=False)
            if done.returncode:
                pytest.skip(f"the official agent cannot be installed here: {done.stderr.strip()[-200:]}")
            ready.touch()
    return python
