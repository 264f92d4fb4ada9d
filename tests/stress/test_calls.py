"""The cost of calls: each is measured and compared with what it may cost."""

from __future__ import annotations

import pytest

from stress.calls.cases import CASES
from stress.calls.command import main


@pytest.mark.parametrize(("margin", "status"), [("100000", 0), ("0", 1)])
def test_the_table_and_the_verdict(margin: str, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--rounds", "1", "--calls", "50", "--margin", margin]) == status
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[0] for line in lines[-len(CASES) :]] == [f"| {case.name}" for case in CASES]
