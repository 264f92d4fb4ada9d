"""The table can be read, the comparison sees what differs, and docs/run.md has the list of the last run."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from ways.observed import Observed, differences, missing
from ways.page import PAGE, unexplained, with_list
from ways.result import read_result
from ways.rows import KINDS, Row, Table, read_table, requirements

ROW = Row("a script", "tools", "python script.py", says="total")
TABLE = Table((ROW,), (("[0-9]+ s", "SECONDS"),), (".* leaves this line out",))
BARE = Observed(output="total 3\nin 1 s\n", error="", status=0)
OPENING = "shop reports to a:1 and leaves this line out\n"


def test_each_row_has_a_kind_and_its_packages_are_pinned() -> None:
    for row in read_table().rows:
        lines = requirements(row.environment).read_text().splitlines()
        pinned = {line.partition("==")[0].lower().replace("_", "-") for line in lines}
        assert row.kind in KINDS
        assert {each.lower() for each in row.packages} <= pinned, row.name


def test_a_row_with_a_key_that_there_is_not_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "table.toml"
    table.write_text('[every-row]\nours = []\nvolatile = []\n[tools]\n"a" = { run = "a", statsu = 3 }\n')
    with pytest.raises(ValueError, match="tools: a: statsu"):
        read_table(table)


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({}, []),
        ({"output": "total 3\nin 2 s\n", "error": OPENING}, []),
        ({"output": "total 4\nin 1 s\n"}, ["output: missing 'total 3'", "output: added 'total 4'"]),
        ({"output": "in 1 s\ntotal 3\n"}, ["output: the same lines in another order"]),
        ({"error": f"a warning\n{OPENING}"}, ["error: added 'a warning'"]),
        ({"error": f"a warning: {OPENING}x"}, ["error: added 'x'"]),
        ({"status": 1}, ["exit code: bare 0, with the agent 1"]),
        ({"files": ["tmp/a"]}, ["files: bare [], with the agent ['tmp/a']"]),
        (
            {"files": [str(each) for each in range(99)]},
            [f"files: bare [], with the agent {[str(each) for each in range(12)]}"],
        ),
        ({"processes": ["python a"]}, ["processes: bare [], with the agent ['python a']"]),
        ({"answers": ["500 "]}, ["answers: bare [], with the agent ['500 ']"]),
        ({"beside": "exit code 1"}, ["beside: added 'exit code 1'"]),
    ],
)
def test_the_comparison_sees_what_a_user_sees(changed: dict[str, Any], found: list[str]) -> None:
    assert differences(TABLE, ROW, BARE, dataclasses.replace(BARE, **changed)) == found


def test_a_bare_run_that_shows_nothing_is_no_measure() -> None:
    assert missing(ROW, BARE) == []
    assert missing(ROW, Observed(status=0)) == ["bare: 'total' is not in its output"]
    assert missing(ROW, dataclasses.replace(BARE, status=1)) == ["bare: exit code 1, expected 0"]
    served = dataclasses.replace(ROW, get="/", times=2)
    assert missing(served, dataclasses.replace(BARE, answers=["500 x", "200 x"])) == ["bare: answered '500 x'"]
    assert missing(served, BARE) == ["bare: 0 answers, expected 2"]


def test_the_page_has_the_list_of_the_last_run() -> None:
    rows, kept = {each.name: each for each in read_table().rows}, read_result()
    assert list(unexplained(rows, kept)) == []
    assert PAGE.read_text() == with_list(PAGE.read_text(), rows, kept), "make ways"


def test_a_row_that_differs_needs_a_reason_and_a_reason_a_row_that_differs() -> None:
    way: dict[str, Any] = {"name": "a script", "kind": "tools", "command": "", "found": ["output: added 'x'"]}
    explained = {"a script": dataclasses.replace(ROW, differs="It prints x.")}
    assert list(unexplained({"a script": ROW}, {"ways": [way]})) != []
    assert list(unexplained(explained, {"ways": [way]})) == []
    assert list(unexplained(explained, {"ways": [{**way, "found": []}]})) != []
