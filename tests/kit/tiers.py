"""The marks `gate` and `slow` of the suites that `suites.toml` lists; a test's own mark counts first."""

from __future__ import annotations

import pytest

from suites import TIERS, is_part


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not any(item.get_closest_marker(each) for each in ("gate", "slow", "e2e")):
            for tier, suites in TIERS.items():
                if is_part(item.path, suites):
                    item.add_marker(tier)
