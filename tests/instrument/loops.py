"""For libraries that know asyncio alone."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, TypeVar

import pytest

Test = TypeVar("Test", bound=Callable[..., Any])


def _patient_loop() -> asyncio.AbstractEventLoop:
    # how long a step takes is the machine's doing
    loop = asyncio.SelectorEventLoop()
    loop.slow_callback_duration = math.inf
    return loop


_no_uvloop = pytest.mark.skipif(find_spec("uvloop") is None, reason="uvloop is not installed")
ASYNCIO = [
    pytest.param(("asyncio", {"debug": True, "loop_factory": _patient_loop}), id="asyncio"),
    pytest.param(("asyncio", {"use_uvloop": True}), id="uvloop", marks=_no_uvloop),
]
_on_loops = pytest.mark.parametrize("anyio_backend", ASYNCIO)


@pytest.fixture(params=ASYNCIO)
def anyio_backend(request: pytest.FixtureRequest) -> Any:
    """Run the coroutine functions of a test module that imports this on asyncio and uvloop."""
    return request.param


def on_asyncio(test: Test) -> Test:
    """Run a coroutine function's test on asyncio and uvloop."""
    marked: Test = pytest.mark.anyio(_on_loops(test))
    return marked
