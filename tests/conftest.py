"""Async tests run on the event loops that the agent supports: on one in turn, or on each, see `kit/tiers.py`."""

from __future__ import annotations

import gc
import logging
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from random import Random
from typing import Any

import pytest

from kit.loops import LOOPS
from kit.seeds import FIXED, session_seed
from swagent.instrument import settings

pytest_plugins = ["kit.tiers", "budget", "e2e.fixtures", "faults.counted", "instrument.lost", "kit.implementation"]

# with an example database a failure would come back; without one the seed alone decides
if find_spec("hypothesis") is not None:  # not on PyPy
    hypothesis = import_module("hypothesis")
    is_fixed = session_seed() == FIXED
    # no deadline: a busy machine holds up any example
    profile = {"derandomize": is_fixed, "database": None, "print_blob": True, "deadline": None}
    hypothesis.settings.register_profile("seeded", **profile)
    hypothesis.settings.load_profile("seeded")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if session_seed() != FIXED:
        config.option.hypothesis_seed = str(session_seed())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if session_seed() != FIXED:
        terminalreporter.write_line(f"TEST_SEED={session_seed()} repeats what these tests drew at random")


def pytest_collection_finish() -> None:
    # A consumer that a suite keeps in another thread shuffles at each fetch, and hypothesis fails a test during which
    # any code draws from the generator that all modules share.
    for name in ("client", "conn", "consumer.fetcher", "partitioner"):
        if (module := sys.modules.get(f"aiokafka.{name}")) is not None:
            vars(module)["random"] = Random()


@pytest.fixture(autouse=True)
def _settings_as_before() -> Iterator[None]:
    """A test that configures the instrumentations does so for itself."""
    before = settings.current()
    yield
    settings.use(before)


@pytest.fixture(
    params=[
        pytest.param(
            loop, id=name, marks=pytest.mark.skipif(find_spec(name) is None, reason=f"{name} is not installed")
        )
        for name, loop in LOOPS.items()
    ]
)
def anyio_backend(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(scope="session", autouse=True)
def _hypothesis_has_its_tables() -> None:
    """Hypothesis makes its table of characters once, which takes a second that no test should have to pay."""
    if (strategies := sys.modules.get("hypothesis.strategies")) is not None:
        strategies.text().validate()


@pytest.fixture(scope="module", autouse=True)
def _old_objects_are_no_garbage() -> None:
    """Many tests collect all garbage, to see what is left. What pytest holds of all tests and modules is none, and
    400,000 objects: half a second each time."""
    if hasattr(gc, "freeze"):
        gc.collect()
        gc.freeze()


@pytest.fixture(autouse=True)
def loggers_as_they_were() -> Iterator[None]:
    """Starting an agent sets its logger's level, and `dictConfig` disables every logger that exists."""
    level = logging.getLogger("swagent").level
    yield
    logging.getLogger("swagent").setLevel(level)
    for logger in logging.root.manager.loggerDict.values():
        if isinstance(logger, logging.Logger):
            logger.disabled = False
