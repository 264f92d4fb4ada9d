"""Every way to start a program, bare and with the agent.

    python tests/ways/run.py [--only TEXT ...] [--here]

It makes environments of its own in `.cache`, with the packages of `requirements.txt` and, for the rows that say so, of
another such file, and keeps the verdicts in `result.json`. `--only` runs the rows whose names contain one of the texts.
`--here` uses the environment of this very Python, and keeps nothing. Exit status 1: a row
differs, and the table does not say why, or the other way round.
"""

from __future__ import annotations

import argparse
import hashlib
import platform
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

if __name__ == "__main__":  # a script finds its own folder on the path, and imports need the tests folder
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from interpreters.place import CACHE, REPOSITORY
from kit.real.redis import Redis
from ways.judging import Judged, has_programs, judge
from ways.result import keep_result
from ways.rows import Row, read_table, requirements
from ways.running import Place


def main() -> int:
    """Run what is asked for; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[], help="texts of which a row's name contains one")
    parser.add_argument("--here", action="store_true", help="in the environment of this Python")
    options = parser.parse_args()
    table = read_table()
    rows = [each for each in table.rows if not options.only or any(text in each.name for text in options.only)]
    programs = {each.environment: Path(sys.executable).parent if options.here else CACHE / "none" for each in rows}
    if not options.here:
        programs |= {name: environment(name) for name in {each.environment for each in rows if has_programs(each)}}
    judged: list[Judged] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ways-")))
        redis = stack.enter_context(Redis()) if any("{redis}" in f"{each}" for each in rows) else None
        for row in rows:
            place = Place(folder, programs[row.environment], redis.address if redis else "")
            judged.append(judge(table, row, place))
            print("\n".join(report(row, judged[-1])), flush=True)
    if not options.here:
        keep_result(judged, [each.name for each in table.rows])
    wrong = [each.name for row, each in zip(rows, judged, strict=True) if is_wrong(row, each)]
    print(
        f"{len(judged) - len(wrong)} of {len(judged)} as they should be" + "".join(f"\nFAILED {each}" for each in wrong)
    )
    return 1 if wrong else 0


def is_wrong(row: Row, judged: Judged) -> bool:
    """Whether a row differs without a reason, or has a reason and does not differ."""
    return not judged.not_run and bool(judged.found) != bool(row.differs)


def report(row: Row, judged: Judged) -> list[str]:
    """A row's verdict, in lines."""
    if judged.not_run:
        return [f"NOT RUN  {row.name}: {judged.not_run}"]
    word = ("same" if not judged.found else "differs").ljust(8)
    again = f", tried {judged.tries} times" if judged.tries > 1 else ""
    bare, agent = judged.seconds
    return [
        f"{word} {row.name} (bare {bare} s, with the agent {agent} s{again})",
        *(f"    {each}" for each in judged.found),
    ]


def environment(name: str) -> Path:
    """The folder of the programs of an environment with the agent and packages of the table, made if need be.

    :param name: as in `Row.environment`
    """
    packages = requirements(name)
    parts = [platform.python_version(), packages.read_text(), (REPOSITORY / "pyproject.toml").read_text()]
    folder = CACHE / "ways" / hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*pip, "-e", f"{REPOSITORY}[all]", "-r", str(packages)], check=True)
        (folder / "complete").touch()
    return folder / "bin"


if __name__ == "__main__":
    sys.exit(main())
