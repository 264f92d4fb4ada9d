"""The same random cases by both implementations, each in a process of its own: the first difference between them."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from native.frozen_clock import build
from native.observations import Frame, read

REPOSITORY = Path(__file__).parents[2]
_PATHS = ("tests", ".", "transports", "proto_gen")
# where `make test-native-asan` has its build
_ASAN = "SWAGENT_TESTS_ASAN"
_BEFORE = 12
_WIDEST = 300


@dataclass
class Comparison:
    """The outcome of a comparison.

    :ivar frames: how many of each kind were the same
    :ivar implementations: those that ran, as the two processes say
    :ivar difference: empty, or the first difference, with the frames before it
    """

    frames: dict[str, int]
    implementations: tuple[str, str] = ("", "")
    difference: str = ""


def compare(
    count: int,
    seed: int,
    loop: str = "asyncio",
    natives: tuple[str, str] = ("off", "auto"),
    *,
    python: str = sys.executable,
    clock: Path | None = None,
) -> Comparison:
    """Run the cases twice.

    :param natives: the setting of each process
    :param clock: the library of the clock; left out, it is built
    """
    with tempfile.TemporaryDirectory() as folder:
        library = clock or build(Path(folder))
        environs = [_environ(native, library) for native in natives]
        command = [python, "-m", "native.worker", "--loop", loop, "--seed", str(seed), "--count", str(count)]
        with _running(command, environs[0]) as one, _running(command, environs[1]) as other:
            return _compare(read(one), read(other))


def environ_of(native: str) -> dict[str, str]:
    """The variables of a process with this setting, which imports what is in the repository."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SW_", "PYTHON"))}
    kept |= {name: os.environ[name] for name in ("PYTHONMALLOC",) if name in os.environ}
    first = [os.environ[_ASAN]] if _ASAN in os.environ else []
    paths = [*first, *(str(REPOSITORY / each) for each in _PATHS)]
    return {**kept, "SW_AGENT_NATIVE": native, "PYTHONPATH": os.pathsep.join(paths), "PYTHONHASHSEED": "0"}


def _environ(native: str, clock: Path) -> dict[str, str]:
    return {**environ_of(native), **preloading(clock)}


def preloading(library: object) -> Mapping[str, str]:
    """The variable that loads a library first, after those that are loaded here."""
    return {"LD_PRELOAD": " ".join(filter(None, [os.environ.get("LD_PRELOAD", ""), str(library)]))}


@contextmanager
def _running(command: list[str], environ: Mapping[str, str]) -> Iterator[BinaryIO]:
    with subprocess.Popen(command, env=dict(environ), cwd=REPOSITORY, stdout=subprocess.PIPE) as process:
        try:
            yield cast("BinaryIO", process.stdout)
        finally:
            process.kill()


def _compare(one: Iterator[Frame], other: Iterator[Frame]) -> Comparison:
    found = Comparison({})
    before: deque[Frame] = deque(maxlen=_BEFORE)
    for left, right in itertools.zip_longest(one, other):
        if left is not None and right is not None and left.kind == right.kind == "e":
            found.implementations = left.note, right.note
            return found
        if left != right:
            lines = [*(_shown(each)[:_WIDEST] for each in before), f"one:   {_shown(left)}", f"other: {_shown(right)}"]
            found.difference = "\n".join(lines)
            return found
        found.frames[left.kind] = found.frames.get(left.kind, 0) + 1
        before.append(left)
    found.difference = "both ended too soon"
    return found


def _shown(frame: Frame | None) -> str:
    if frame is None:
        return "the process has ended"
    return f"{frame.kind} {frame.note}{frame.data!r}" if frame.data else f"{frame.kind} {frame.note}"
