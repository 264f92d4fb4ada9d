"""The servers' jars: Maven fetches them once, every later run finds them in the user's cache."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

_HERE = Path(__file__).parent
_FETCH_SECONDS = 480.0  # below the time limit of the test that happens to fetch


class UnavailableError(Exception):
    """The servers cannot run on this machine; the text says what is missing."""


class FetchError(Exception):
    """Maven did not deliver."""


def java() -> str:
    """Where the Java launcher is, JAVA_HOME's first."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    if found is None:
        where = f"in JAVA_HOME ({home})" if home else "on the PATH"
        raise UnavailableError(f"no java {where}: install a JDK or JRE, 11 or later")
    return found


def jars(name: str, version: str, pom: Path | None = None) -> Path:
    """The folder with the jars of `<name>-pom.xml`, fetched when this version is not in the cache yet.

    :param pom: another file that lists them
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "swagent-tests"
    folder = cache / f"{name}-{version}"
    if folder.is_dir():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with Path(f"{folder}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # given back by close
        if not folder.is_dir():  # else another process fetched while we waited
            _fetch(name, version, folder, pom or _HERE / f"{name}-pom.xml")
    return folder


def _fetch(name: str, version: str, folder: Path, pom: Path) -> None:
    """Download beside the final place and move at the end: a folder that exists is complete."""
    mvn = shutil.which("mvn")
    if mvn is None:
        raise UnavailableError(f"no mvn on the PATH: install Apache Maven, it fetches {name} {version} once")
    with tempfile.TemporaryDirectory(prefix=f"{folder.name}.", dir=folder.parent) as part:
        command = [mvn, "-q", "-B", "-f", str(pom), f"-Drevision={version}"]
        command += ["dependency:copy-dependencies", f"-DoutputDirectory={part}/lib"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_FETCH_SECONDS, check=False)
        if done.returncode != 0:
            raise FetchError(f"mvn could not fetch {name} {version}:\n{(done.stdout + done.stderr)[-3000:]}")
        Path(part, "lib").rename(folder)
