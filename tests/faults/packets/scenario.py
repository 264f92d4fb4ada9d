"""The faults in the namespace, made once, while nine agents report: one for each transport and event loop.

The steps, by the names under which the agents' answers are printed, as one JSON object:

next      the first address lets no connection come about, the second does
dead      there is only that first address, and the agents stop
halfopen  the connections that are up go silent, more is recorded
redialled the first calls have failed, more is recorded
lossy     packets are lost at random, more and more of them
healed    no more is lost, and nothing waits any more
"""

from __future__ import annotations

import json
import time
from typing import Any

from faults.driving import Answer, Fleet
from faults.matrix import BY_ID, Cell
from faults.packets.firewall import Firewall
from faults.packets.peers import Peers

BLACK_HOLE = 9
DEADLINE = 5.0
HASTE = 2.5  # a deadline that some calls miss when much is lost
LONGEST = 60.0  # beyond which no test waits for anything
LOSSES = ((1, 3.0), (10, 4.0), (30, 5.0))  # percent, and for how many seconds


class Scenario:
    """The peers, the agents, the rules, and the order of events."""

    def __init__(self, peers: Peers, fleet: Fleet) -> None:
        self.steps: dict[str, dict[Cell, Answer]] = {}
        self.figures: dict[str, float] = {}
        self._peers = peers
        self._fleet = fleet
        self._firewall = Firewall()

    def run(self) -> None:
        """All of the steps."""
        self._meet_a_black_hole()
        self._go_half_open()
        self._lose_packets()

    def _meet_a_black_hole(self) -> None:
        fleet, (hole, *more) = self._fleet, [f"127.0.0.{host}:{BLACK_HOLE}" for host in (1, 2, 3)]
        self._firewall.swallow_dials(BLACK_HOLE)

        def before(transport: str) -> list[str]:
            # the client library shuffles the brokers: with more black holes the broker is seldom the first
            return [hole, *more] if transport == "kafka" else [hole]

        fleet.ask(do="start", of=lambda cell: self._settings(cell, *before(cell[0]), request_timeout=DEADLINE))
        fleet.ask(do="record", count=3)
        fleet.ask(do="wait", what="settled", within=LONGEST)
        self.steps["next"] = fleet.ask(do="stop")
        only = {"collector": hole, "kafka_bootstrap_servers": [hole]}
        fleet.ask(do="start", of=lambda cell: {"settings": {"protocol": cell[0], **only}})
        fleet.ask(do="record", count=5)
        self.steps["dead"] = fleet.ask(do="stop")
        self.figures["dials"] = self._firewall.heal()

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
        self._firewall.lose(LOSSES[0][0], self._peers.ports)
        fleet.ask(do="start", of=lambda cell: self._settings(cell, request_timeout=HASTE))
        fleet.ask(do="load", rate=40, size=2000)
        for percent, seconds in LOSSES:
            self._firewall.lose(percent, self._peers.ports)
            time.sleep(seconds)
            lost += self._firewall.heal()
        self.figures["lost"], self.figures["healed"] = lost, time.monotonic()
        self.steps["lossy"] = fleet.ask(do="wait", what="confirmed", within=LONGEST)
        fleet.ask(do="calm")
        fleet.ask(do="wait", what="settled", within=LONGEST)
        self.steps["healed"] = fleet.ask(do="stop")

    def _settings(self, cell: Cell, *before: str, **more: Any) -> dict[str, Any]:
        return {"settings": {**self._peers.settings(cell[0], *before), **more}}


def main() -> None:
    """Run it, and print what came of it."""
    with Fleet(BY_ID["F10"].cells()) as fleet, Peers() as peers:
        scenario = Scenario(peers, fleet)
        scenario.run()
        steps = {name: {"-".join(cell): each for cell, each in all_.items()} for name, all_ in scenario.steps.items()}
        print(json.dumps({"steps": steps, "figures": scenario.figures, "seen": peers.seen()}))


if __name__ == "__main__":
    main()
