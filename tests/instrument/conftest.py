"""A recorder, the instrumentations that a module's tests ask for, and what they are seen to collect."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from record.recorded import Recorder, recording
from swagent.instrument import State, instrument, report, uninstrument

from . import collecting
from .http_server import HttpServer

_IS_WRITING = os.environ.get("SWAGENT_TESTS_COLLECT") == "write"
_all: collecting.Collected = {}
_incomplete: list[str] = []


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


@pytest.fixture(autouse=True)
def collected(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Compare what a test records with what is known to be collected, see `collecting`."""
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
    if _IS_WRITING:
        collecting.merge(_all, found)
    elif news := "\n".join(collecting.unknown(found)):
        pytest.fail(f"tests/instrument/collected does not know of this, `make libraries` writes it:\n{news}")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if not report.passed:
        _incomplete.append(report.nodeid)


def pytest_sessionfinish() -> None:
    if _IS_WRITING:
        # what a skipped test would have seen is still so
        known = collecting.read() if _incomplete else {}
        collecting.merge(known, _all)
        collecting.write(known)


@pytest.fixture
def server() -> Iterator[HttpServer]:
    with HttpServer() as running:
        yield running
