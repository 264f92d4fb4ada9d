"""A recorder, and the instrumentations that a module's tests ask for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from record.recorded import Recorder, recording
from swagent.instrument import State, instrument, report, uninstrument

from .http_server import HttpServer


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    with recording() as fresh:
        yield fresh


@pytest.fixture(autouse=True)
def instrumented(request: pytest.FixtureRequest) -> Iterator[None]:
    """A module names what it tests: `INSTRUMENTED = ("httpx",)`, having imported the libraries itself."""
    names: tuple[str, ...] = getattr(request.module, "INSTRUMENTED", ())
    if not names:
        yield
        return
    instrument(*names)
    states = {each.name: each for each in report()}
    try:
        assert {name: states[name].state for name in names} == dict.fromkeys(names, State.ACTIVE)
        yield
    finally:
        uninstrument(*names)


@pytest.fixture
def server() -> Iterator[HttpServer]:
    with HttpServer() as running:
        yield running
