"""A test that docs/faults.md counts must run in CI: there a skip is a failure, since the page is made by collecting.

A plugin of pytest's, for tests of any folder.
"""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    is_counted = item.get_closest_marker("covers") is not None
    if report.skipped and not hasattr(report, "wasxfail") and is_counted and os.environ.get("CI"):
        report.outcome = "failed"
        report.longrepr = f"the fault matrix counts this test, and it was skipped: {report.longrepr}"
    return report
