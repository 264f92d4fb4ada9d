"""Makes what a release uploads, and refuses what is not fit for it.

    make release                         dist/: two source distributions, two wheels, sbom.cdx.json, SHA256SUMS
    make release ARGS="--tag v0.1.0"     the same for that tag: the changelog has to have the date

All is built of the last commit, twice, in two folders, and compared byte by byte. The wheel of the accelerator is for
the Python that runs this; `make wheels` makes those for the others. Exit status 1: something is wrong, and a sentence
says it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

from release import archives, sbom, versions

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
DIST = ROOT / "dist"
# Other versions of the builders make other bytes.
TOOLS = (
    "build==1.6.1",
    "cyclonedx-bom==7.5.0",
    "hatchling==1.33.0",
    "setuptools==84.2.1",
    "twine==7.0.0",
)
_BOM = "sbom.cdx.json"
_VERSION = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)
_VALID = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read())
sys.exit(error and f"The bill of materials is not valid: {error}")
"""


class RefusedError(Exception):
    """There is no release; the text says why."""


def main() -> int:
    """Make the release; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tag", help="what is published: its version, and a date in the changelog, are then required")
    try:
        make(parser.parse_args().tag)
    except RefusedError as error:
        print(f"\nNo release:\n{error}", file=sys.stderr)
        return 1
    print((DIST / "SHA256SUMS").read_text(), end="")
    return 0


def make(tag: str | None) -> None:
    """Fill `dist/`.

    :raises RefusedError: when something is wrong
    """
    _refuse(["There are changes that no commit has."] if _say("git", "status", "--porcelain") else [])
    _refuse(versions.complaints(stated_versions(), (ROOT / "CHANGELOG.md").read_text("utf-8"), tag))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tools = _environment(folder / "tools", *TOOLS)
        first, second = (build(tools, folder / each) for each in ("first", "another"))
        _refuse(archives.differences(first, second))
        _refuse([line for each in first for line in archives.without_notice(each, first[each])])
        shutil.rmtree(DIST, ignore_errors=True)
        DIST.mkdir()
        for each, content in first.items():
            (DIST / each).write_bytes(content)
        _run(tools, "-m", "twine", "--no-color", "check", "--strict", *(str(DIST / each) for each in first))
        (DIST / _BOM).write_text(json.dumps(bill(tools, folder), indent=2, sort_keys=True) + "\n")
        _run(tools, "-c", _VALID, str(DIST / _BOM))
    (DIST / "SHA256SUMS").write_text(archives.checksums(archives.read(DIST)))


def stated_versions() -> dict[str, str]:
    """The version by the file that says it."""
    files = ("pyproject.toml", "swagent/native/pyproject.toml")
    said = {each: tomllib.loads((ROOT / each).read_text("utf-8"))["project"]["version"] for each in files}
    found = _VERSION.search((ROOT / "swagent" / "__init__.py").read_text("utf-8"))
    return {**said, "swagent/__init__.py": found[1] if found else "none"}


def build(tools: Path, folder: Path) -> dict[str, bytes]:
    """Source distributions and wheels of the last commit, by their names.

    :param folder: where to build; what is built does not depend on it
    """
    seconds = int(_say("git", "log", "-1", "--format=%ct"))
    sources, built = folder / "sources", folder / "built"
    sources.mkdir(parents=True)
    built.mkdir()
    packed = folder / "commit.tar"
    _say("git", "archive", "--output", str(packed), "HEAD")
    _unpack(packed, sources)
    for project in (sources, sources / "swagent" / "native"):
        _build(tools, "--sdist", project, built, seconds)
    for archive in sorted(built.glob("*.tar.gz")):
        archive.write_bytes(archives.repack(archive.read_bytes(), seconds))
        _unpack(archive, folder)
        _build(tools, "--wheel", folder / archive.name.removesuffix(".tar.gz"), built, seconds)
    return archives.read(built)


def bill(tools: Path, folder: Path) -> sbom.Bom:
    """What an installation with all extras brings, as CycloneDX.

    :raises RefusedError: when it leaves out one of our own distributions
    """
    (wheel,) = DIST.glob("swagent-*.whl")
    python = _environment(
        folder / "installed", f"{wheel}[all,mcp,opentelemetry]", *map(str, DIST.glob("swagent_native-*.whl"))
    )
    made = folder / "made.json"
    options = ["--output-reproducible", "--spec-version", "1.6", "--output-format", "JSON", "--output-file", str(made)]
    _run(tools, "-m", "cyclonedx_py", "environment", *options, str(python))
    manifest = json.loads((ROOT / "swagent" / "collector" / "page" / "vendor" / "manifest.json").read_text())
    found = sbom.with_vendored(json.loads(made.read_text()), manifest)
    _refuse(sbom.missing(found, {"swagent", "swagent-native", *manifest}))
    return found


def _build(tools: Path, kind: str, project: Path, target: Path, seconds: int) -> None:
    # debug information names the folder of the build
    flags = f"{os.environ.get('CFLAGS', '')} -ffile-prefix-map={project}=."
    environ = {"SOURCE_DATE_EPOCH": str(seconds), "CFLAGS": flags, "PYTHONHASHSEED": "0"}
    _run(tools, "-m", "build", "--no-isolation", kind, "--outdir", str(target), str(project), **environ)


def _unpack(archive: Path, folder: Path) -> None:
    with tarfile.open(archive) as source:
        source.extractall(folder, filter="data") if sys.version_info >= (3, 12) else source.extractall(folder)


def _environment(folder: Path, *packages: str) -> Path:
    """The Python of an environment that has these packages."""
    _run(Path(sys.executable), "-m", "venv", str(folder))
    python = folder / "bin" / "python"
    _run(python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", *packages)
    return python


def _run(python: Path, *arguments: str, **environ: str) -> None:
    _say(str(python), *arguments, **environ)


def _say(*command: str, **environ: str) -> str:
    """What a command prints.

    :raises RefusedError: when it fails
    """
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **environ}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RefusedError(f"{done.stdout}{done.stderr}This failed: {' '.join(command)}")
    return done.stdout


def _refuse(complaints: Sequence[str]) -> None:
    if complaints:
        raise RefusedError("\n".join(complaints))


if __name__ == "__main__":
    sys.exit(main())
