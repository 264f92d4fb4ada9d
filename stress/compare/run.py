"""The whole comparison: environments, rates, rounds."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from kit.real.jars import FetchError, UnavailableError
from kit.real.server import ServerError

from ..environments import SetupError
from .contestants import CONTESTANTS, Contestant
from .environments import prepare
from .figures import Key
from .order import order_round
from .serving import ServingError
from .sinks import SinkError, Sinks
from .verdict import Failure
from .visit import Load, LoadError, Measurement, Visit
from .wrk import WrkError

_BROKEN = (ServingError, WrkError, LoadError, SinkError, UnavailableError, FetchError, ServerError)


@dataclass(frozen=True)
class Plan:
    """The plan of a comparison.

    :ivar seconds: of each phase; so warm_up
    :ivar shares: fixed rates by name, as shares of the bare application's saturation
    """

    contestants: Sequence[Contestant]
    handlers: Sequence[str]
    rounds: int
    seconds: float
    warm_up: float
    shares: Mapping[str, float]


class Comparison:
    """One run; `measurements` and `failures` grow with it."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        """:param folder: for what the applications print"""
        self.plan = plan
        self.measurements: list[Measurement] = []
        self.failures: list[Failure] = []
        self._logs = folder / "logs"
        self._rounds = 0
        self._pythons: dict[str, Path] = {}
        self._saturation: dict[tuple[str, str], float] = {}

    def run(self) -> None:
        """All rounds. What cannot be measured becomes a failure, and the rest goes on."""
        self._logs.mkdir(exist_ok=True)
        contestants = [each for each in self.plan.contestants if self._prepare(each)]
        with ExitStack() as stack:
            sinks = Sinks(stack)
            if self.plan.shares:
                self._find_rates([each for each in contestants if each.agent == "bare"], sinks)
            for _ in range(self.plan.rounds):
                self._run_round({(each.name, handler) for each in contestants for handler in self.plan.handlers}, sinks)
        self._drop_unpaired()

    def repeat(self, keys: Collection[Key]) -> None:
        """As many rounds again, of these and the bare application: a neighbour's busy minute is no regression."""
        wanted = {(name, handler) for of, handler in keys for name in (of, CONTESTANTS[of].bare)}
        with ExitStack() as stack:
            sinks = Sinks(stack)
            for _ in range(self.plan.rounds):
                self._run_round(wanted, sinks)
        self._drop_unpaired()

    def _run_round(self, keys: Collection[Key], sinks: Sinks) -> None:
        for handler in self.plan.handlers:
            contestants = [each for each in self.plan.contestants if (each.name, handler) in keys]
            for contestant in order_round(contestants, self._rounds):
                self._visit(contestant, handler, self._rounds, sinks)
        self._rounds += 1

    def _prepare(self, contestant: Contestant) -> bool:
        try:
            self._pythons[contestant.environment] = prepare(contestant.environment)
        except SetupError as error:
            self.failures += [Failure(contestant.name, handler, str(error)) for handler in self.plan.handlers]
            return False
        return True

    def _find_rates(self, bare: Sequence[Contestant], sinks: Sinks) -> None:
        """Measure the rate that the application reaches without an agent: the fixed rates are shares of that."""
        load = Load(self.plan.warm_up, self.plan.seconds, {})
        for contestant in bare:
            for handler in self.plan.handlers:
                found = self._measure(Visit(contestant, handler, load), -1, sinks)
                if found is not None:
                    self._saturation[contestant.name, handler] = found.saturation.qps

    def _visit(self, contestant: Contestant, handler: str, number: int, sinks: Sinks) -> None:
        rates: dict[str, float] = {}
        if self.plan.shares:
            qps = self._saturation.get((contestant.bare, handler))
            if qps is None:
                self.failures.append(Failure(contestant.name, handler, f"{contestant.bare} could not be measured"))
                return
            rates = {name: share * qps for name, share in self.plan.shares.items()}
        found = self._measure(
            Visit(contestant, handler, Load(self.plan.warm_up, self.plan.seconds, rates)), number, sinks
        )
        if found is not None:
            self.measurements.append(found)
            print(_describe(found), file=sys.stderr, flush=True)

    def _measure(self, visit: Visit, number: int, sinks: Sinks) -> Measurement | None:
        python = self._pythons[visit.contestant.environment]
        try:
            return visit.measure(number, python, sinks, self._logs)
        except _BROKEN as error:
            self.failures.append(Failure(visit.contestant.name, visit.handler, str(error)))
            print(f"{visit.contestant.name} /{visit.handler}: {error}", file=sys.stderr, flush=True)
            return None

    def _drop_unpaired(self) -> None:
        """Without the bare application of its round a measurement compares with nothing; the report has its failure."""
        bare = {(each.contestant, each.handler, each.number) for each in self.measurements}
        self.measurements = [
            each for each in self.measurements if (CONTESTANTS[each.contestant].bare, each.handler, each.number) in bare
        ]


def _describe(found: Measurement) -> str:
    return (
        f"round {found.number + 1} {found.contestant} /{found.handler}: {found.saturation.qps:,.0f}/s, delivered "
        f"{found.delivered.segments:,} of {found.expected.segments:,} segments, "
        f"{found.delivered.logs:,} of {found.expected.logs:,} logs"
    )
