"""The benchmark of starts: its figures, and the process that it reads them off."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stress.cost.counter import NEEDED
from stress.start.instructions import Count
from stress.start.verdict import Figures, guard


def _figures(agent: float) -> Figures:
    return {"a script, millions of instructions": {"bare": [400.0], "swagent": [400.0 + agent]}}


@pytest.mark.parametrize(("agent", "status"), [(109.0, 0), (111.0, 1), (50.0, 0)])
def test_a_start_may_take_a_tenth_more_than_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], agent: float, status: int
) -> None:
    path = tmp_path / "recorded_start.json"
    assert guard(_figures(100.0), is_new=True, path=path) == 0
    assert guard(_figures(agent), is_new=False, path=path) == status
    said = capsys.readouterr()
    assert ("the agent adds 111,000,000 instructions to a start, recorded is 100,000,000" in said.err) is (status == 1)
    assert ("hold what was gained with python -m stress start --record" in said.out) is (agent == 50.0)


def test_a_start_without_a_record_is_a_fault(tmp_path: Path) -> None:
    assert guard(_figures(100.0), is_new=False, path=tmp_path / "none.json") == 1


@pytest.mark.slow
@pytest.mark.skipif(any(shutil.which(each) is None for each in NEEDED), reason=f"needs {' and '.join(NEEDED)}")
def test_a_program_that_becomes_another_is_counted_with_it(tmp_path: Path) -> None:
    become = "import os, sys; os.execv('/bin/sh', ['sh', '-c', 'exit 3'])"
    count = Count(tmp_path)
    ended = subprocess.run(
        count.command([sys.executable, "-S", "-c", become]), env=count.environ(os.environ), check=False
    )
    assert ended.returncode == 3
    assert len(list(tmp_path.iterdir())) >= 2
    python, sh = 5.0, 0.1
    assert count.read() > python + sh
