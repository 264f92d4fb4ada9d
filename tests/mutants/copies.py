"""A copy of the work tree with its environment, in which the copy's agent is the installed one, for all processes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from mutants.draw import Mutant

_PLUGIN = "swagent_mutants"
_GONE = ("PYTHONPATH", "PYTEST_ADDOPTS", "VIRTUAL_ENV", "MAKEFLAGS", "MFLAGS", "MAKELEVEL")
_NONE: Mapping[str, str] = {}


class Run(NamedTuple):
    """What one run of pytest said.

    :ivar seconds: of each test that ran, by its name
    :ivar failed: the tests, and the modules that could not be imported, in the order in which they failed
    :ivar stopped: why pytest did not come to its end
    """

    seconds: dict[str, float]
    failed: list[str]
    stopped: str | None


class Copy:
    """It is made anew, and is for one run at a time."""

    def __init__(self, original: Path, root: Path) -> None:
        self.root, self._original = root, original
        shutil.rmtree(root, ignore_errors=True)
        left_out = shutil.ignore_patterns(".git", ".cache", ".venv*", ".*_cache")
        shutil.copytree(original, root, symlinks=True, ignore=left_out)
        environment = root / Path(sys.prefix).relative_to(original)
        shutil.copytree(sys.prefix, environment, symlinks=True, copy_function=os.link)
        (packages,) = environment.glob("lib/python*/site-packages")
        for path in [*environment.glob("bin/*"), *packages.glob("*.pth")]:
            if not path.is_symlink() and os.fsencode(original) in (content := path.read_bytes()):
                mode = path.stat().st_mode
                path.unlink()  # it is the original, by another name
                path.write_bytes(content.replace(os.fsencode(original), os.fsencode(root)))
                path.chmod(mode)
        shutil.copy(Path(__file__).with_name("plugin.py"), packages / f"{_PLUGIN}.py")
        self._python = environment / "bin" / "python"

    @contextmanager
    def changed(self, mutants: Iterable[Mutant]) -> Iterator[None]:
        """Have these mutants, each in a file of its own."""
        sources = {each: (self._original / each.path).read_text(encoding="utf-8") for each in mutants}
        try:
            for mutant, source in sources.items():
                self._write(mutant.path, mutant.source(source))
            yield
        finally:
            for mutant, source in sources.items():
                self._write(mutant.path, source)

    def run(
        self,
        arguments: Sequence[str],
        tests: Sequence[str] | None = None,
        seconds: float | None = None,
        environ: Mapping[str, str] = _NONE,
    ) -> Run:
        """Run a selection of the tests, or those of it that are named.

        :param seconds: the time after which it is stopped
        """
        report, chosen, output = (self.root.with_suffix(each) for each in (".report", ".chosen", ".log"))
        report.write_bytes(b"")
        command = [
            str(self._python),
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            _PLUGIN,
            f"--report={report}",
        ]
        if tests is not None:
            chosen.write_text("\n".join(map(json.dumps, tests)), encoding="utf-8")
            command += [f"--chosen={chosen}", *dict.fromkeys(each.partition("::")[0] for each in tests)]
        own = {name: value for name, value in os.environ.items() if name not in _GONE}
        own |= {"SW_AGENT_NATIVE": "off", "SWAGENT_TESTS_COLLECT": "new", **environ}
        with (
            output.open("wb") as log,
            subprocess.Popen(
                [*command, *arguments], cwd=self.root, env=own, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
            ) as process,
        ):  # fmt: skip
            try:
                # besides 0 and 1: a module that cannot be imported, no tests
                stopped = None if process.wait(seconds) in (0, 1, 2, 5) else "pytest's own end"
            except subprocess.TimeoutExpired:
                stopped = f"the limit of {seconds:.0f} seconds"
            finally:
                with suppress(ProcessLookupError):  # what it has started, too
                    os.killpg(process.pid, signal.SIGKILL)
        said = list(map(json.loads, report.read_text(encoding="utf-8").splitlines()))
        times = {each["test"]: each["seconds"] for each in said}
        return Run(times, [each["test"] for each in said if each["failed"]], stopped)

    def _write(self, name: str, source: str) -> None:
        path = self.root / name
        path.write_text(source, encoding="utf-8")
        for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
            compiled.unlink()  # it may be of the same second and size
