"""The files for an upload: both archives as an index takes them, and what the README says to install."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from kit.servers import collector_thread
from wheel.environments import ROOT, Environment, build_wheel

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

HERE = Path(__file__).parent
_INSTALLED = re.compile(r"^pip install 'swagent(\[[\w,]+\])'", re.MULTILINE)


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that builds and checks."""
    folder = tmp_path_factory.mktemp("tools") / "venv"
    _run(sys.executable, "-m", "venv", str(folder))
    python = folder / "bin" / "python"
    _run(str(python), "-m", "pip", "--quiet", "install", "hatchling", "trove-classifiers", "twine")
    return python


@pytest.fixture(scope="module")
def archives(tools: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The source distribution, and the wheel that is built of it alone."""
    folder = tmp_path_factory.mktemp("archives")
    _run(str(tools), "-m", "hatchling", "build", "-t", "sdist", "-d", str(folder), cwd=ROOT)
    (source,) = folder.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        archive.extractall(folder, filter="data") if sys.version_info >= (3, 12) else archive.extractall(folder)
    unpacked = folder / source.name.removesuffix(".tar.gz")
    # as a user who has nothing else, and no repository around it
    _run(str(tools), "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder), cwd=unpacked)
    (wheel,) = folder.glob("*.whl")
    return [source, wheel]


def test_an_index_takes_both_archives(tools: Path, archives: list[Path]) -> None:
    said = _run(str(tools), "-m", "twine", "--no-color", "check", "--strict", *map(str, archives))
    assert said.count("PASSED") == 2, said


def test_the_source_makes_the_same_wheel_as_the_repository(archives: list[Path], tmp_path: Path) -> None:
    assert _files(archives[1]) == _files(build_wheel(tmp_path))


def test_every_classifier_is_a_known_one(tools: Path, archives: list[Path]) -> None:
    with zipfile.ZipFile(archives[1]) as wheel:
        (name,) = (each for each in wheel.namelist() if each.endswith(".dist-info/METADATA"))
        metadata = wheel.read(name).decode()
    said = [line.partition(": ")[2] for line in metadata.splitlines() if line.startswith("Classifier: ")]
    known = _run(str(tools), "-c", "import trove_classifiers\nprint(*trove_classifiers.classifiers, sep='\\n')")
    assert said
    assert set(said) <= set(known.splitlines())


def test_the_installation_of_the_readme_delivers(archives: list[Path], tmp_path: Path) -> None:
    (extras,) = _INSTALLED.findall((ROOT / "README.md").read_text("utf-8"))
    environment = Environment(tmp_path / "venv", archives[1], extras)
    shutil.copy(HERE / "deliver.py", environment.folder)
    with collector_thread() as (collector, _):
        said = environment.run(["deliver.py"], {"SW_AGENT_COLLECTOR_BACKEND_SERVICES": collector.address})
    assert said.startswith("segment: offered 1, accepted 1, confirmed 1, queued 0"), said
    states = environment.run(["-c", _STATES])
    assert "failed" not in states
    assert "httpx: not installed" in states


_STATES = """
from swagent.instrument import instrument, report
instrument()
for each in report():
    print(f"{each.name}: {each.state.value} {each.reason}")
"""


def _files(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        # the list of all others has hashes of them, and is in no order that is promised
        return {each: archive.read(each) for each in archive.namelist() if not each.endswith("/RECORD")}


def _run(*command: str, cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command} failed:\n{done.stdout}{done.stderr}"
    return done.stdout
