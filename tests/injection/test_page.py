"""The list of applications in docs/injection.md."""

from __future__ import annotations

from injection.applications import HERE
from injection.folder import ROOT
from ways.rows import Row, read_table


def _line(row: Row) -> str:
    first, *pins = (HERE / "requirements" / f"{row.environment}.txt").read_text().splitlines()
    versions = ", ".join(each.replace("==", " ") for each in pins if "==" in each)
    return f"| {row.name} | {first.removeprefix('# Python ')} | {versions} |"


def test_each_application_is_on_the_page_with_its_versions() -> None:
    page = (ROOT / "docs" / "injection.md").read_text().splitlines()
    rows = read_table(HERE / "table.toml").rows
    assert [_line(each) for each in rows if _line(each) not in page] == []
