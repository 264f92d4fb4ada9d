"""docs/security.md names tests for each threat, and they are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[3]
_PAGE = (_ROOT / "docs" / "security.md").read_text("utf-8")
_THREATS = re.split(r"^## (T[0-9]+): .*\n", _PAGE, flags=re.MULTILINE)
_BY_ID = dict(zip(_THREATS[1::2], _THREATS[2::2], strict=True))


def test_every_threat_is_there_once() -> None:
    assert _THREATS[1::2] == [f"T{number}" for number in range(1, 18)]


@pytest.mark.parametrize("threat", _BY_ID)
def test_every_threat_has_tests_that_exist(threat: str) -> None:
    paths = re.findall(r"`(tests/[^`]*)`", _BY_ID[threat])
    assert paths
    missing = [path for path in paths if not (_ROOT / path).is_file()]
    assert not missing
    assert all("def test_" in (_ROOT / path).read_text("utf-8") for path in paths)


def test_its_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)]+)\)", _PAGE):
        assert (_ROOT / "docs" / target).is_file(), target


def test_every_setting_that_it_names_exists() -> None:
    from swagent.config import options

    known = {option.env for _, option in options()}
    named = set(re.findall(r"\bSW_[A-Z0-9_]+\b", _PAGE)) - {"SW_"}
    assert named <= known
