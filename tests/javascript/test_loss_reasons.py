"""The page's words for the reasons of the ledger."""

from __future__ import annotations

import re
from pathlib import Path

from swagent.ledger import Drop, Refusal

ROOT = Path(__file__).parents[2]


def test_each_reason_of_the_ledger_has_words_and_settings_that_exist() -> None:
    source = (ROOT / "swagent" / "collector" / "page" / "runtime" / "loss_reasons.js").read_text()
    refused, _, dropped = source.partition("  dropped: {")
    named = [set(re.findall(r"^    (\w+): \{", each, re.MULTILINE)) for each in (refused, dropped)]
    assert named == [{each.value for each in Refusal}, {each.value for each in Drop}]
    settings = set(re.findall(r"SW_[A-Z0-9_]+", source))
    known = (ROOT / "docs" / "options.md").read_text()
    assert {each for each in settings if f"| `{each}` |" not in known} == set()
