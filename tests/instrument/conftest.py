"""A recorder, the instrumentations that a module's tests ask for, and what they are seen to collect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from instrument import collecting, lost
from record.recorded import Recorder, recording
from swagent import Config
from swagent.instrument import State, instrument, report, uninstrument

from .http_server import HttpServer
from .watcher import Watcher


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
    # most tests make their calls without a span around them
    instrument(*names, config=Config(trace_calls_outside_requests=True))
    states = {each.name: each for each in report()}
    try:
        assert {name: states[name].state for name in names} == dict.fromkeys(names, State.ACTIVE)
        yield
    finally:
        uninstrument(*names)


@pytest.fixture(autouse=True)
def collected(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Compare what a test records with what is known to be collected, see `collecting`, and keep it for `lost`."""
    found: collecting.Collected = {}
    take = Recorder._take

    def taking(self: Recorder, segment: Any) -> None:
        for span in segment.spans:
            described = collecting.describe(span)
            if described is not None:
                owners = collecting.owners(span, request.module)
                collecting.merge(found, {name: [described] for name in owners})
        take(self, segment)

    monkeypatch.setattr(Recorder, "_take", taking)
    yield
    collecting.merge(lost.of(request.config).found, found)
    if lost.mode() != "write" and (news := "\n".join(collecting.unknown(found))):
        pytest.fail(f"tests/instrument/collected does not know of this, `make libraries` writes it:\n{news}")


@pytest.fixture
def server() -> Iterator[HttpServer]:
    with HttpServer() as running:
        yield running


@pytest.fixture(params=[False, True], ids=["watched", "watched in vain"])
def watcher(request: pytest.FixtureRequest) -> Watcher:
    return Watcher(request.param)
