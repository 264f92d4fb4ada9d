"""The faults in the namespace, made once, while nine agents report: one for each transport and event loop.

The steps, by the names under which the agents' answers are printed, as one JSON object:

halfopen  the connections that are up go silent, more is recorded
redialled the first calls have failed, more is recorded
lossy     packets are lost at random, more and more of them
healed    no more is lost, and nothing waits any more
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from faults.driving import Answer, Fleet
from faults.matrix import BY_ID, TRANSPORTS, Cell
from faults.packets.firewall import Firewall
from kit.sinks import Sink, sink_of

DEADLINE = 5.0
HASTE = 2.5  # a deadline that some calls miss when much is lost
LONGEST = 60.0  # beyond which no test waits for anything
LOSSES = ((1, 3.0), (10, 4.0), (30, 5.0))  # percent, and for how many seconds


class Scenario:
    """The sinks, the agents, the rules, and the order of events."""

    def __init__(self, sinks: Mapping[str, Sink], fleet: Fleet) -> None:
        self.steps: dict[str, dict[Cell, Answer]] = {}
        self.figures: dict[str, float] = {}
        self._sinks = sinks
        self._fleet = fleet
        self._firewall = Firewall()

    def run(self) -> None:
        """All of the steps."""
        self._go_half_open()
        self._lose_packets()

    def _go_half_open(self) -> None:
        fleet, steps = self._fleet, self.steps
        fleet.ask(do="start", of=lambda cell: self._settings(cell, request_timeout=DEADLINE))
        # twice: what the quickest have connected may be idle for too long when the slowest have
        for _ in range(2):
            fleet.ask(do="record", count=1)
            fleet.ask(do="wait", what="settled", within=LONGEST)
        used = fleet.ask(do="sockets")
        self._firewall.swallow_connections(port for answer in used.values() for port in answer["ports"])
        self.figures["silent since"] = time.monotonic()
        fleet.ask(do="record", count=5)
        # some may have failed before the last of them has recorded
        steps["halfopen"] = fleet.ask(do="wait", what="failed", within=LONGEST, anew=False)
        fleet.ask(do="record", count=5)
        fleet.ask(do="wait", what="settled", within=LONGEST)
        steps["redialled"] = fleet.ask(do="stop")
        self.figures["silenced"] = self._firewall.heal()

    def _lose_packets(self) -> None:
        fleet, lost = self._fleet, 0
        ports = [sink.port for sink in self._sinks.values()]
        self._firewall.lose(LOSSES[0][0], ports)
        fleet.ask(do="start", of=lambda cell: self._settings(cell, request_timeout=HASTE))
        fleet.ask(do="load", rate=40, size=2000)
        for percent, seconds in LOSSES:
            self._firewall.lose(percent, ports)
            time.sleep(seconds)
            lost += self._firewall.heal()
        self.figures["lost"], self.figures["healed"] = lost, time.monotonic()
        self.steps["lossy"] = fleet.ask(do="wait", what="confirmed", within=LONGEST)
        fleet.ask(do="calm")
        fleet.ask(do="wait", what="settled", within=LONGEST)
        self.steps["healed"] = fleet.ask(do="stop")

    def _settings(self, cell: Cell, **more: Any) -> dict[str, Any]:
        return {"settings": {**self._sinks[cell[0]].settings, **more}}


def main() -> None:
    """Run it, and print what came of it."""
    with Fleet(BY_ID["F10"].cells()) as fleet, ExitStack() as ends:
        sinks = {each: ends.enter_context(sink_of(each)) for each in TRANSPORTS.values()}
        scenario = Scenario(sinks, fleet)
        scenario.run()
        steps = {name: {"-".join(cell): each for cell, each in all_.items()} for name, all_ in scenario.steps.items()}
        seen = {transport: sink.ids for transport, sink in sinks.items()}
        print(json.dumps({"steps": steps, "figures": scenario.figures, "seen": seen}))


if __name__ == "__main__":
    main()
