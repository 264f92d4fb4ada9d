"""Plays a scenario in the cells of the matrix that were asked for, several at a time, and keeps what came of each.

A server spends its time waiting, so that several side by side take hardly longer than one. The tests of a module share
what one play has shown: `run = runs(transport, backend)` gives one cell's outcome, or raises what it raised.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import anyio
import pytest

from faults.matrix import Cell
from faults.processes.apps import App, Warm
from kit.sinks import Reports, Sink

T = TypeVar("T")
# of each agent's stop
TIMEOUT = 20.0
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Scene:
    """One cell's part of a scenario: where its applications come from and where they report."""

    transport: str
    backend: str
    sink: Sink
    warm: Warm

    def launch(self, command: str, **environ: str) -> App:
        """Start a server as `python -m COMMAND`, under a service name of its own; use it as an `async with` block."""
        service = f"{self.transport}-{self.backend}-{next(_numbers)}"
        own = {"SW_AGENT_NAME": service, "SW_AGENT_SHUTDOWN_TIMEOUT": f"{TIMEOUT}"}
        return App(self.warm, command.split(), {**own, **self.sink.environ, **environ})

    def reports(self, app: App) -> Reports:
        """The reports of an application."""
        return self.sink.of(app.service)


Scenario = Callable[[Scene], Awaitable[T]]


class Stage:
    """Where scenarios are played: the warm interpreter and the sinks, for all of the session."""

    def __init__(self, warm: Warm, sinks: Mapping[str, Sink]) -> None:
        self._warm = warm
        self._sinks = sinks

    def play(self, scenario: Scenario[T], cells: list[Cell], at_once: int) -> Mapping[Cell, T | BaseException]:
        """Play a scenario in each cell; what it raises there is its outcome."""
        outcomes: dict[Cell, T | BaseException] = {}
        scenes = [Scene(*cell, self._sinks[cell[0]], self._warm) for cell in cells]

        async def play_all() -> None:
            places = asyncio.Semaphore(at_once)

            async def play_one(scene: Scene) -> None:
                async with places:
                    try:
                        outcome: T | BaseException = await scenario(scene)
                    except Exception as error:
                        outcome = error
                    outcomes[scene.transport, scene.backend] = outcome

            await asyncio.gather(*map(play_one, scenes))

        anyio.run(play_all)
        return outcomes


def playing(scenario: Scenario[T], at_once: int = 4) -> Callable[..., Callable[[str, str], T]]:
    """A module's fixture: a function from a cell to what the scenario came to there.

    :param at_once: in how many cells; more where the scenario is all waiting
    """

    @pytest.fixture(scope="module")
    def runs(request: pytest.FixtureRequest, stage: Stage) -> Callable[[str, str], T]:
        outcomes = stage.play(scenario, _cells_wanted(request), at_once)

        def outcome(transport: str, backend: str) -> T:
            found = outcomes[transport, backend]
            if isinstance(found, BaseException):
                raise found
            return found

        return outcome

    return runs


def _cells_wanted(request: pytest.FixtureRequest) -> list[Cell]:
    """The cells of those tests in this run that use the fixture."""
    assert request.fixturename is not None
    wanted: dict[Cell, None] = {}
    for item in request.session.items:
        if isinstance(item, pytest.Function) and request.fixturename in item.fixturenames and item.path == request.path:
            parameters = item.callspec.params
            wanted[str(parameters["transport"]), str(parameters["backend"])] = None
    return list(wanted)
