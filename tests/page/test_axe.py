"""No view has anything that axe-core complains about, wide and narrow, in both colour schemes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from page.axe import violations
from page.browser import Tab
from page.stand_in import StandIn
from page.test_access import places


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_no_rule_of_accessibility_is_broken(
    open_tab: Callable[..., Tab], crowded: StandIn, scheme: str, width: int
) -> None:
    tab = open_tab(crowded, scheme=scheme, width=width)
    found = {}
    for name, (address, ready) in places(crowded).items():
        page = tab.open(address)
        expect(page.locator(ready).first).to_be_visible()
        if broken := violations(page):
            found[name] = broken
    assert found == {}
