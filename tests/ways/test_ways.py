"""The quick rows of the table, in the environment of the tests; `make ways` runs all of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ways.judging import judge
from ways.rows import Row, read_table
from ways.run import is_wrong, report
from ways.running import Place

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
TABLE = read_table()


@pytest.mark.parametrize("row", [each for each in TABLE.rows if each.quick], ids=lambda row: row.name)
def test_a_way_is_the_same_with_the_agent(row: Row, tmp_path: Path) -> None:
    judged = judge(TABLE, row, Place(tmp_path, Path(sys.executable).parent))
    assert not judged.not_run
    assert not is_wrong(row, judged), "\n".join(report(row, judged))
