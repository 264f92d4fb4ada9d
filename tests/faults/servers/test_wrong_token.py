"""A real OAP that asks for a token: who has the wrong one is refused, and leaves it alone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from e2e import samples
from e2e.fixtures import TOKEN
from faults.covering import each_cell
from faults.driving import Answer, Fleet
from faults.matrix import BY_ID, Cell
from kit.real.oap import Oap

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

# long enough for several attempts, were they not paused: the first rests take a second at most
WATCHED = 4.0


@dataclass
class Refused:
    """The answers of agents with the wrong token, while they lived and when they stopped, and then with the right."""

    living: dict[Cell, Answer]
    stopped: dict[Cell, Answer]
    welcome: dict[Cell, Answer]


@pytest.fixture(scope="module")
def refused(token_oap: Oap) -> Iterator[Refused]:
    settings = {"service": samples.unique("token"), "collector": token_oap.grpc_address}
    with Fleet(BY_ID["F18"].cells()) as fleet:
        fleet.ask(do="start", settings={**settings, "authentication": f"not {TOKEN}"})
        fleet.ask(do="record", count=3)
        fleet.ask(do="wait", what="failed", within=10, anew=False)
        time.sleep(WATCHED)
        living = fleet.ask(do="look")
        stopped = fleet.ask(do="stop")
        fleet.ask(do="start", settings={**settings, "authentication": TOKEN})
        fleet.ask(do="record", count=3)
        fleet.ask(do="wait", what="settled", within=10)
        yield Refused(living, stopped, fleet.ask(do="stop"))


@each_cell("F18", backend_name="backend")
def test_it_is_refused_once_then_leaves_the_oap_alone_and_stops_in_time(
    refused: Refused, transport: str, backend: str
) -> None:
    answer = refused.living[transport, backend]
    (probe,) = answer["notes"]
    assert (probe["call"], probe["verdict"], probe["pause"]) == ("probe", "RejectedError", 60.0)
    assert probe["text"].startswith("PERMISSION_DENIED")
    assert (answer["ledger"]["queued"], answer["ledger"]["dropped"]) == (3, {}), "records wait, none is at risk"
    (line,) = answer["log"]
    assert "PERMISSION_DENIED" in line
    answer = refused.stopped[transport, backend]
    assert TOKEN not in "".join(answer["log"])
    assert answer["seconds"] <= 5.5
    assert answer["ledger"]["balanced"]
    assert answer["ledger"]["dropped"] == {"shutdown": 3}
    welcome = refused.welcome[transport, backend]
    assert welcome["ledger"]["confirmed"] == 3
    assert {note["verdict"] for note in welcome["notes"]} == {"confirmed"}
