"""Loggers as a fresh process has them, and a capture of what they get."""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator

import pytest

from .captured import Captured, capturing


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """pytest's own handlers raise what goes wrong in formatting, and are not there in a fresh process."""
    handlers, logging.root.handlers = logging.root.handlers, []
    try:
        return (yield)
    finally:
        logging.root.handlers = handlers


@pytest.fixture
def captured() -> Iterator[Captured]:
    with capturing() as fresh:
        yield fresh


@pytest.fixture
def logger(request: pytest.FixtureRequest) -> Iterator[logging.Logger]:
    """A logger of this test's own, that prints nothing."""
    own = logging.getLogger(f"app.{request.node.name}")
    own.addHandler(logging.NullHandler())
    yield own
    own.handlers.clear()
    own.filters.clear()
    own.propagate = True
    own.disabled = False
    own.setLevel(logging.NOTSET)
