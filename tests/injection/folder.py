"""The folder that is put on `PYTHONPATH` to bring the agent into programs whose environment does not know it.

Theory of operation
-------------------
An application has versions of anyio, h2 or protobuf of its own, and the agent's must not take their place. So the
folder holds what the agent needs as modules of one package, `swagent_vendored`, and all imports of these in the agent
and among themselves lead there. The modules that record an application's library are about the library itself, as the
application has it: their imports of it stay. What is in the folder has no compiled part and is for every Python. Beside
each module is its bytecode for the Pythons of the build, since a folder that is mounted is often read-only.

sniffio and exceptiongroup stay shared where the application has them: trio writes into sniffio which loop runs, and an
exception group has to be of the class that the application catches.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from injection.rewriting import rewritten

ROOT = Path(__file__).parents[2]
PACKAGE = "swagent_vendored"
_PINS = Path(__file__).with_name("vendored.txt")
_OWN = (ROOT / "swagent", ROOT / "transports" / "swagent_transports", ROOT / "proto_gen" / "swagent_proto")
# Parts of the agent that are for a developer's environment, and what is no part of a program.
_LEFT_OUT = ("collector", "native", "testing", "pytest_plugin.py", "__pycache__", "*.so")
# Of what is vendored, what no program of ours imports.
_UNUSED = (
    "__pycache__",
    "*.so",
    "*.pyi",
    "*.c",
    "*.pyx",
    "plugin",
    "compile",
    "templates",
    "channelz",
    "health",
    "reflection",
    "_tests",
)
_SHARED = {
    "sniffio": "AsyncLibraryNotFoundError, current_async_library, current_async_library_cvar",
    "exceptiongroup": "BaseExceptionGroup, ExceptionGroup, catch",
}
# The names that these modules import are those of the application's libraries.
_OF_APPLICATION = ("swagent/instrument/libraries/", "swagent/opentelemetry/")
_NEUTRAL = frozenset({"packaging", "typing_extensions"})
# Names in texts, which no import statement has, and a call: by file, what takes the place of what.
_TEXTS = {
    f"{PACKAGE}/anyio/_core/_eventloop.py": ('f"anyio._backends', f'f"{PACKAGE}.anyio._backends'),
    # trio before 0.31 takes no reason, and the application's may be as old
    f"{PACKAGE}/anyio/_backends/_trio.py": (
        "self.__original.cancel(reason)",
        "self.__original.cancel(*(() if 'reason' not in __import__('inspect').signature(self.__original.cancel)"
        ".parameters else (reason,)))",
    ),
    f"{PACKAGE}/betterproto/_version.py": ('metadata.version("betterproto")', '"{betterproto}"'),
    f"{PACKAGE}/certifi/core.py": ('files("certifi")', f'files("{PACKAGE}.certifi")'),
    "swagent/config/files.py": ('"tomli"', f'"{PACKAGE}.tomli"'),
    "swagent/record/trace/outcome.py": (
        'import_module("exceptiongroup")',
        f'import_module("{PACKAGE}.exceptiongroup")',
    ),
}
_METADATA = """\
Metadata-Version: 2.1
Name: swagent
Version: {version}
Summary: The telemetry agent for Apache SkyWalking, in a folder that brings all that it needs
License: Apache-2.0
"""


class BuildError(Exception):
    """There is no folder; the text says why."""


def build(target: Path, pythons: Iterable[str] = (sys.executable,)) -> None:
    """Fill a folder, which is new, empty, or of an earlier build, whose files are removed.

    :param pythons: the interpreters for which bytecode is left beside the modules
    :raises BuildError: when the folder has other files, or something that is vendored is not as expected
    """
    if target.exists() and any(target.iterdir()) and not (target / PACKAGE).is_dir():
        raise BuildError(f"{target} has files of others, which a build would remove: name a new folder")
    shutil.rmtree(target, ignore_errors=True)
    fetched = target / "fetched"
    _run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
          "--no-compile", "--target", str(fetched), "--requirement", str(_PINS)])  # fmt: skip
    names = _copy_vendored(fetched, target / PACKAGE)
    versions = _copy_licences(fetched, target / PACKAGE / "licences")
    for each in _OWN:
        shutil.copytree(each, target / each.name, ignore=shutil.ignore_patterns(*_LEFT_OUT))
    _lead(target, names)
    _replace_texts(target, versions)
    _say_what_is_vendored(target, names)
    shutil.copy(ROOT / "swagent" / "cli" / "bootstrap" / "sitecustomize.py", target)
    _write_metadata(target)
    shutil.rmtree(fetched)
    for python in pythons:
        # by no time: a copy of the folder has others
        _run([python, "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", str(target)])


def _copy_vendored(fetched: Path, package: Path) -> frozenset[str]:
    """Copy the modules; returns their names."""
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('"""What swagent needs, apart from what the application has."""\n')
    names: set[str] = set()
    for each in sorted(fetched.iterdir()):
        name = f"own_{each.stem}" if each.name in _SHARED else each.name
        if each.is_dir() and (each / "__init__.py").exists():
            shutil.copytree(each, package / name, ignore=shutil.ignore_patterns(*_UNUSED))
        elif each.suffix == ".py":
            shutil.copy(each, package / name)
        else:
            continue
        names.add(each.stem)
    for shared, exported in _SHARED.items():
        (package / f"{shared}.py").write_text(
            f"try:\n    from {shared} import {exported}\nexcept ImportError:\n"
            f"    from {PACKAGE}.own_{shared} import {exported}\n"
        )
    return frozenset(names)


def _copy_licences(fetched: Path, target: Path) -> dict[str, str]:
    """Copy the licence of each distribution; returns their versions.

    :raises BuildError: when one has none
    """
    versions: dict[str, str] = {}
    for each in sorted(fetched.glob("*.dist-info")):
        name, _, version = each.name.removesuffix(".dist-info").partition("-")
        versions[name] = version
        found = [file for file in each.rglob("*") if file.name.upper().startswith(("LICEN", "COPYING", "NOTICE"))]
        metadata = (each / "METADATA").read_text("utf-8")
        (target / name).mkdir(parents=True)
        (target / name / "METADATA").write_text(metadata.partition("\n\n")[0] + "\n")
        for file in found:
            if file.is_file():
                shutil.copy(file, target / name)
        if not found and "License" not in metadata:
            raise BuildError(f"{each.name} has no licence")
    return versions


def _lead(target: Path, names: frozenset[str]) -> None:
    """Lead the imports of all modules to the package."""
    shared = {target / PACKAGE / f"{each}.py" for each in _SHARED}
    for path in sorted(target.rglob("*.py")):
        place = path.relative_to(target).as_posix()
        if place.startswith("fetched/") or path in shared:
            continue
        led = names & _NEUTRAL if place.startswith(_OF_APPLICATION) else names
        before = path.read_text("utf-8")
        after = rewritten(before, led, PACKAGE)
        if after != before:
            path.write_text(after, "utf-8")


def _replace_texts(target: Path, versions: dict[str, str]) -> None:
    for place, (old, new) in _TEXTS.items():
        path = target / place
        text = path.read_text("utf-8")
        if old not in text:
            raise BuildError(f"{place} has no {old}")
        for name, version in versions.items():
            new = new.replace(f"{{{name}}}", version)
        path.write_text(text.replace(old, new), "utf-8")


def _say_what_is_vendored(target: Path, names: frozenset[str]) -> None:
    path = target / "swagent" / "startup" / "settings.py"
    listed = ", ".join(f'"{each}"' for each in sorted(names))
    before = "VENDORED: frozenset[str] = frozenset()"
    text = path.read_text("utf-8")
    if before not in text:
        raise BuildError(f"{path.name} has no list")
    path.write_text(text.replace(before, f"{before[:-1]}({listed}))"), "utf-8")


def _write_metadata(target: Path) -> None:
    """Write what `importlib.metadata` is to find: the version and the transports, and nothing that is required."""
    version = _stated_version((ROOT / "swagent" / "__init__.py").read_text("utf-8"))
    folder = target / f"swagent-{version}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(_METADATA.format(version=version))
    (folder / "entry_points.txt").write_text(_transports())
    for each in ("LICENSE", "NOTICE"):
        shutil.copy(ROOT / each, folder)


def _stated_version(text: str) -> str:
    """The version that a module states."""
    return text.partition('__version__ = "')[2].partition('"')[0]


def _transports() -> str:
    head = '[project.entry-points."swagent.transports"]\n'
    text = (ROOT / "pyproject.toml").read_text("utf-8").partition(head)[2].partition("\n\n")[0]
    lines = (line.replace('"', "") for line in text.splitlines() if line)
    return "\n".join(["[swagent.transports]", *lines, ""])


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BuildError(f"{done.stdout}{done.stderr}This failed: {' '.join(command)}")
