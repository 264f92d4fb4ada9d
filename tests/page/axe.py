"""axe-core, which knows the rules of accessibility, run in a tab."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page

from javascript.check import PLACE, install

_RUN = """async () => {
  const found = await axe.run(document, { resultTypes: ['violations'] });
  return found.violations.map(({ id, impact, nodes }) => ({
    id, impact, nodes: nodes.map(each => [each.html.slice(0, 200), each.failureSummary]) }));
}"""


def violations(page: Page) -> list[dict[str, Any]]:
    """What axe-core complains about in what the page shows now."""
    if not page.evaluate("'axe' in window"):
        install()
        page.evaluate((PLACE / "node_modules" / "axe-core" / "axe.min.js").read_text())
    found: list[dict[str, Any]] = page.evaluate(_RUN)
    return found
