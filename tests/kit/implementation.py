"""Which implementation this run of the tests has: Python, or the accelerator. It is a matter of the whole process.

A test that is about one of them is marked `native` or `pure`, and is left out of the other's runs. With
SWAGENT_TESTS_NATIVE=required, which `make test-native` sets, a run without the accelerator fails.
"""

from __future__ import annotations

import os

import pytest

from swagent import acceleration

_REQUIRED = "SWAGENT_TESTS_NATIVE"


def pytest_configure() -> None:
    if os.environ.get(_REQUIRED) == "required" and acceleration.native is None:
        raise pytest.UsageError(f"these tests are for the accelerator, and it does not run: {acceleration.reason}")


def pytest_report_header() -> str:
    return f"requests, logs and spans: {acceleration.describe()}"


def pytest_runtest_setup(item: pytest.Item) -> None:
    if acceleration.native is None and item.get_closest_marker("native") is not None:
        pytest.skip(f"needs the accelerator: {acceleration.reason}")
    if acceleration.native is not None and item.get_closest_marker("pure") is not None:
        pytest.skip("is about Python alone")
