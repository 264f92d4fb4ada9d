"""Packets that vanish, in a namespace of the test's own, with nine agents at once: see `scenario`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from faults.covering import each_cell
from faults.packets.namespace import need_namespace, run_in_namespace
from faults.packets.scenario import DEADLINE, HASTE

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

SCENARIO = Path(__file__).parent / "scenario.py"
SECONDS = 400.0
# beyond a deadline, for whatever else the machine has to do
SLACK = 2.0
PATIENCE = 31.0

Answer = dict[str, Any]


@dataclass
class Scenario:
    """The output of the scenario."""

    steps: dict[str, dict[str, Answer]]
    figures: dict[str, float]
    seen: dict[str, dict[str, int]]


@pytest.fixture(scope="module")
def found() -> Scenario:
    """All of it happens once; each test looks at its own cell and its own part."""
    need_namespace()
    return Scenario(**run_in_namespace(SCENARIO, SECONDS))


def ids(answer: Answer, *verdicts: str) -> Counter[str]:
    """The segments that got these verdicts."""
    return Counter(each for note in answer["notes"] if note["verdict"] in verdicts for each in note["ids"])


def seconds(note: Answer) -> float:
    """How long a call took."""
    return float(note["ended"] - note["began"])


@each_cell("F06", backend_name="backend")
def test_the_call_after_a_half_open_connections_deadline_goes_through(
    found: Scenario, transport: str, backend: str
) -> None:
    assert found.figures["silenced"] > 0, "the rule has met packets"
    cell = f"{transport}-{backend}"
    assert found.steps["halfopen"][cell]["reached"]
    answer = found.steps["redialled"][cell]
    silent = [note for note in answer["notes"] if note["ended"] > found.figures["silent since"]]
    lost, redial, *later = silent
    assert (lost["call"], lost["verdict"], len(lost["ids"])) == ("send", "AmbiguousError", 5)
    assert seconds(lost) <= DEADLINE + SLACK
    assert (redial["call"], redial["verdict"]) == ("probe", "confirmed")
    assert {(note["call"], note["verdict"]) for note in later} == {("send", "confirmed")}
    # the first rest is a second at most
    assert redial["ended"] - lost["ended"] <= 1.0 + SLACK
    assert answer["ledger"]["confirmed"] == 7
    assert answer["ledger"]["dropped"] == {"ambiguous": 5}


@each_cell("F10", backend_name="backend")
def test_with_packets_lost_each_record_has_one_verdict_and_it_is_true(
    found: Scenario, transport: str, backend: str
) -> None:
    assert found.figures["lost"] > 0
    answer, seen = found.steps["healed"][f"{transport}-{backend}"], found.seen[transport]
    ledger = answer["ledger"]
    confirmed, ambiguous = ids(answer, "confirmed"), ids(answer, "AmbiguousError")
    unsent = set(ids(answer, "RetryableError")) - set(confirmed) - set(ambiguous)
    assert ledger["balanced"]
    assert ledger["queued"] == ledger["in_flight"] == 0
    assert ledger["refused"] == {}
    assert set(ledger["dropped"]) <= {"ambiguous"}
    assert (len(confirmed), len(ambiguous)) == (ledger["confirmed"], ledger["dropped"].get("ambiguous", 0))
    assert max((confirmed + ambiguous).values()) == 1, "one verdict each"
    assert set(confirmed) <= set(seen)
    assert not unsent, "what was not sent was sent in the end"
    assert max(seen.values()) == 1, "nothing came twice"


@each_cell("F10", backend_name="backend")
def test_it_is_delivered_again_when_no_more_is_lost(found: Scenario, transport: str, backend: str) -> None:
    cell = f"{transport}-{backend}"
    assert found.steps["lossy"][cell]["reached"]
    healed = found.figures["healed"]
    first = min(note["began"] for note in found.steps["healed"][cell]["notes"] if note["began"] >= healed)
    # a call that was under way may have failed after that, and the rest begins only then
    assert first - healed <= PATIENCE + HASTE
