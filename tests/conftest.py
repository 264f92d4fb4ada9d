"""Every async test runs on every event loop that the agent supports. A suite may narrow that."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

pytest_plugins = ["e2e.fixtures"]


def _loop(name: str, backend: str, options: dict[str, Any], needs: str) -> Any:
    missing = pytest.mark.skipif(find_spec(needs) is None, reason=f"{needs} is not installed")
    return pytest.param((backend, options), id=name, marks=missing)


@pytest.fixture(
    params=[
        # by name: where a test has imported trio_asyncio, asyncio's policy makes a loop that runs on trio
        _loop("asyncio", "asyncio", {"debug": True, "loop_factory": asyncio.SelectorEventLoop}, needs="asyncio"),
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
