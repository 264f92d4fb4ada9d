"""One stage in a process of its own, under callgrind."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from swagent.acceleration import VARIABLE

from ..environments import ROOT, without_settings
from .counter import PLACE
from .figures import Count, CountError, read_blocks
from .layouts import environ_of
from .requests import CASES
from .stages import STAGES

_SERVED = ROOT / "stress" / "compare" / "served"
_LONGEST = 900.0


def measure(
    stage: str,
    cases: Sequence[str],
    blocks: int,
    python: Path,
    library: Path,
    collector: str,
    folder: Path,
    split: int = 1,
    accelerator: Path | None = None,
    layout: int = 0,
) -> Mapping[str, Count]:
    """Count the cases at one stage.

    :param python: the interpreter of the application's environment
    :param library: that is loaded before everything else
    :param collector: the address of one in another process: what it does is not the application's cost
    :param split: of one in how many requests the time is split; 0: of none
    :param folder: for what callgrind writes; empty
    :param accelerator: the folder that has it; Python works alone where it is left out
    :param layout: of the memory, by its number
    :raises CountError: the process failed, or did something else than it should
    """
    command = [
        "valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder / 'callgrind.out'}",
        str(python), "-m", "stress.cost.process", stage, collector, str(blocks), str(split), *cases,
    ]  # fmt: skip
    log = folder.with_suffix(".log")
    with log.open("wb") as errors:
        try:
            done = subprocess.run(command, cwd=ROOT, env=_environ(library, accelerator, layout),
                                  stdout=subprocess.PIPE, stderr=errors,
                                  check=False, timeout=_LONGEST)  # fmt: skip
        except subprocess.TimeoutExpired:
            raise CountError(f"{stage} took longer than {_LONGEST:.0f} s, see {log}") from None
    if done.returncode != 0:
        raise CountError(f"{stage} failed:\n{_tail(log)}")
    answer = json.loads(done.stdout)
    check_answer(stage, cases, blocks, answer, has_accelerator=accelerator is not None)
    found = read_blocks(folder)
    if any(len(found.get(case, ())) != blocks for case in cases):
        raise CountError(f"{stage}: callgrind did not write {blocks} blocks of each case, see {folder}")
    return {case: Count(found[case], answer["collections"][case], CASES[case].block) for case in cases}


def check_answer(
    stage: str, cases: Sequence[str], blocks: int, answer: Mapping[str, Any], *, has_accelerator: bool = False
) -> None:
    """A request that was not served, or a record that was not delivered, costs nothing: such a count is void. So is one
    of another implementation.

    :raises CountError: says what is missing
    """
    requests = {case: CASES[case].warm_up + blocks * CASES[case].block for case in cases}
    expected = {"answered": sum(requests.values()), "is_accelerated": has_accelerator}
    if STAGES[stage].delivers:
        logs = sum(number * CASES[case].logs for case, number in requests.items())
        expected |= {"segment": expected["answered"], "log": logs}
    for name, number in expected.items():
        if answer.get(name) != number:
            raise CountError(f"{stage}: {name} is {answer.get(name)} and should be {number}: the count is void")


def _environ(library: Path, accelerator: Path | None, layout: int) -> Mapping[str, str]:
    """Its environment: no settings but ours, and a layout of memory that is the same at each run."""
    return {
        **without_settings(),
        PLACE: str(library),
        "LD_PRELOAD": str(library),
        "PYTHONPATH": os.pathsep.join(map(str, filter(None, (ROOT, _SERVED, accelerator)))),
        VARIABLE: "off" if accelerator is None else "auto",
        **environ_of(layout),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-25:])
