"""Every async test runs on every event loop that the agent supports. A suite may narrow that."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from random import Random
from typing import Any

import pytest

pytest_plugins = ["e2e.fixtures"]


def pytest_configure() -> None:
    # A consumer that a suite keeps in another thread shuffles at each fetch, and hypothesis fails a test during which
    # anybody draws from the generator that all modules share. Not every Python has wheels of aiokafka.
    if find_spec("aiokafka") is not None:
        for name in ("client", "conn", "consumer.fetcher", "partitioner"):
            vars(import_module(f"aiokafka.{name}"))["random"] = Random()


def _selector_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.SelectorEventLoop()
    # how long a step takes is the machine's doing, and tests that read logs read what the debug mode says of it
    loop.slow_callback_duration = math.inf
    return loop


def _loop(name: str, backend: str, options: dict[str, Any], needs: str) -> Any:
    missing = pytest.mark.skipif(find_spec(needs) is None, reason=f"{needs} is not installed")
    return pytest.param((backend, options), id=name, marks=missing)


@pytest.fixture(
    params=[
        _loop("asyncio", "asyncio", {"debug": True, "loop_factory": _selector_loop}, needs="asyncio"),
        _loop("uvloop", "asyncio", {"use_uvloop": True}, needs="uvloop"),
        _loop("trio", "trio", {}, needs="trio"),
    ]
)
def anyio_backend(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(autouse=True)
def loggers_as_they_were() -> Iterator[None]:
    """Starting an agent sets its logger's level, and `dictConfig` disables every logger that exists."""
    level = logging.getLogger("swagent").level
    yield
    logging.getLogger("swagent").setLevel(level)
    for logger in logging.root.manager.loggerDict.values():
        if isinstance(logger, logging.Logger):
            logger.disabled = False
