"""A version is among the wanted ones exactly where `packaging` says so, which is asked for the unusual alone."""

from __future__ import annotations

import subprocess
import sys

import pytest
from packaging.specifiers import SpecifierSet

from swagent.inspection.known_versions import fits
from swagent.startup.tables import LIBRARIES

FOUND = [
    "0", "0.0", "1", "1.0", "1.0.0", "1.2", "1.2.0", "1.2.3", "1.10", "1.9.99", "2", "2.0", "2.0.1", "10", "2024.5.1",
    "2.0rc1", "2.0.0a1", "2.0.dev3", "1.2.post1", "1.2+local", "1!1.2", "v1.2", " 1.2 ", "01.2", "1.2.00",
]  # fmt: skip
WANTED = [
    ">=1", ">=1.2", ">=1.2.0", "<2", "<2.0", ">=1.2,<2", ">=1.2, <2", ">=0.17,<1", ">=2,<3", ">=1.10", "<1.2.3",
    "==1.2", "!=1.2", "~=1.2", "<=1.2", ">1.2", "==1.*", "===1.2", ">=1.2,!=1.2.3,<3", "", ">=2.0rc1", ">=2024.1,<2025",
]  # fmt: skip


@pytest.mark.parametrize("wanted", WANTED)
def test_it_agrees_with_the_standard(wanted: str) -> None:
    expected = {found: SpecifierSet(wanted).contains(found, prereleases=True) for found in FOUND}
    assert {found: fits(found, wanted) for found in FOUND} == expected


@pytest.mark.parametrize("found", ["", "unknown", "1.2.x", "1..2", ".", "1.²"])
def test_what_is_no_version_is_not_wanted(found: str) -> None:
    assert not fits(found, ">=0")


def test_no_library_of_the_table_needs_the_standard() -> None:
    wanted = {each[5] for each in LIBRARIES if each[5]}
    assert len(wanted) > 20
    program = (
        "import sys; from swagent.inspection.known_versions import fits; "
        f"[fits('1.2.3', each) for each in {wanted!r}]; print('packaging' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=50, check=True)
    assert done.stdout == "False\n"
