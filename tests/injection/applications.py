"""Applications whose pins are not the agent's, each bare and with the folder for injection on `PYTHONPATH`.

    python tests/injection/applications.py [--only TEXT ...] [--quick]

It makes an environment for each in `.cache`, as `requirements/` says, and compares what the two runs show. Exit status
1: a run with the folder shows something else, or does not deliver its traces.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

if __name__ == "__main__":  # a script finds its own folder on the path, and imports need the tests folder
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from injection.folder import build
from interpreters.place import CACHE, Machine, UnavailableError
from ways.judging import Judged, judge
from ways.rows import Row, Table, read_table
from ways.run import is_wrong, report
from ways.running import Place

HERE = Path(__file__).parent


def main() -> int:
    """Run what is asked for; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[], help="texts of which an application's name contains one")
    parser.add_argument("--quick", action="store_true", help="two of them")
    options = parser.parse_args()
    table = read_table(HERE / "table.toml")
    rows = [each for each in table.rows if not options.only or any(text in each.name for text in options.only)]
    failed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="injection-") as name:
        folder = Path(name)
        build(folder / "inject", pythons(rows))
        for row in rows if not options.quick else [each for each in rows if each.quick]:
            judged = run(table, row, folder / "inject", folder / "runs")
            print("\n".join(report(row, judged)), flush=True)
            if judged.not_run or is_wrong(row, judged):
                failed.append(row.name)
    print("\n".join([f"{len(failed)} fail", *failed]))
    return 1 if failed else 0


def run(table: Table, row: Row, injected: Path, folder: Path) -> Judged:
    """The verdict on an application.

    :param injected: the folder for injection
    :param folder: for its runs
    """
    try:
        programs = environment(row.environment)
    except UnavailableError as reason:
        return Judged(row.name, row.kind, row.run, not_run=str(reason))
    # by the variable alone: the command is the same
    with_agent = replace(row, agent=row.run, agent_environ={"PYTHONPATH": str(injected), **row.agent_environ})
    return judge(table, with_agent, Place(folder, programs, sources=HERE / "programs"))


def environment(name: str) -> Path:
    """The folder of an environment's programs, made if need be.

    :raises UnavailableError: when its Python is not here
    """
    said = _requirements(name).read_text()
    folder = CACHE / "injection" / hashlib.sha256(said.encode()).hexdigest()[:12]
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([_python(name), "-m", "venv", str(folder)], check=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--requirement", str(_requirements(name))], check=True)
        (folder / "complete").touch()
    return folder / "bin"


def pythons(rows: Sequence[Row]) -> list[str]:
    """The interpreters of these applications that are here."""
    found: list[str] = []
    for each in dict.fromkeys(row.environment for row in rows):
        try:
            found.append(_python(each))
        except UnavailableError:
            continue
    return [*dict.fromkeys(found)]


def _python(name: str) -> str:
    version = _requirements(name).read_text().partition("\n")[0].removeprefix("# Python ")
    return Machine().find(version).command


def _requirements(name: str) -> Path:
    return HERE / "requirements" / f"{name}.txt"


if __name__ == "__main__":
    sys.exit(main())
