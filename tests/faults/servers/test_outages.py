"""A real OAP and a real broker are frozen, killed and filled up under load, with nine agents at once: see `outages`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import anyio
import pytest

from e2e.fixtures import make
from faults.covering import each_cell
from faults.driving import Fleet
from faults.matrix import BY_ID, Cell
from faults.servers.outages import BURST, PATIENCE, QUEUE, REQUEST_TIMEOUT, Outages
from faults.servers.story import Story
from kit.loop_thread import LoopThread
from kit.real.kafka import Kafka
from kit.real.oap import Oap

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

AGE = 60.0  # seconds after which a segment is given up
IN_FLIGHT = 4  # batches at a time


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    """All of it happens once; each test looks at its own cell and its own part."""
    with ExitStack() as ends:
        oap = make(Oap)
        ends.callback(oap.close)
        kafka = make(Kafka)
        ends.callback(kafka.close)
        tools = ends.enter_context(LoopThread())
        fleet = ends.enter_context(Fleet(BY_ID["F05"].cells()))
        yield anyio.run(Outages(oap, kafka, fleet, tools).run)


def reasons(story: Story, cell: Cell) -> set[str]:
    """For which segments may be dropped over the kill and the restart."""
    notes = story.steps["second"][cell]["notes"]
    delivered = max(note["ended"] for note in notes if note["verdict"] == "confirmed")
    return {"ambiguous", "expired"} if delivered - story.times["killed"] > AGE else {"ambiguous"}


def assert_tried_again(story: Story, cell: Cell) -> None:
    """By its first call: a server that has just started may be too slow for that."""
    # a call that was under way may have failed after the start, and the rest begins only then
    assert story.waited("second", cell, since="reopened") <= PATIENCE + REQUEST_TIMEOUT
    assert story.steps["reopened"][cell]["reached"]


@each_cell("F05", backend_name="backend")
def test_a_frozen_server_costs_only_what_was_under_way(story: Story, transport: str, backend: str) -> None:
    cell = transport, backend
    answer = story.steps["settled"][cell]
    ledger = answer["ledger"]
    lost = [note for note in answer["notes"] if note["call"] == "send" and note["verdict"] == "AmbiguousError"]
    assert ledger["balanced"]
    assert ledger["queued"] == ledger["in_flight"] == 0
    assert ledger["dropped"] == {"ambiguous": sum(len(note["ids"]) for note in lost)}
    # others met a server that was not frozen yet, or had gone on, and was not quick enough
    frozen, thawed = story.times["frozen"], story.times["thawed"]
    met_it_frozen = [note for note in lost if note["ended"] > frozen and note["began"] < thawed]
    assert 1 <= len(met_it_frozen) <= IN_FLIGHT
    # a verdict is the last word: none of them was tried again
    assert not story.ids("settled", cell, "confirmed") & story.ids("settled", cell, "AmbiguousError")
    failed = [note["ended"] for note in answer["notes"] if note["verdict"] != "confirmed"]
    assert 1 <= len([line for line in answer["log"] if "no report to" in line]) <= 1 + (max(failed) - min(failed)) // 30


@each_cell("F05", backend_name="backend")
def test_after_it_goes_on_what_waited_is_delivered(story: Story, transport: str, backend: str) -> None:
    cell = transport, backend
    assert story.steps["thawed"][cell]["reached"]
    assert story.steps["thawed"][cell]["at"] - story.times["thawed"] <= PATIENCE
    ledger = story.steps["settled"][cell]["ledger"]
    assert story.ids("settled", cell, "confirmed", since="thawed")
    confirmed, open_ones = story.ids("settled", cell, "confirmed"), story.ids("settled", cell, "AmbiguousError")
    assert len(confirmed) == ledger["confirmed"]
    held = story.held["settled"][cell]
    assert confirmed <= set(held)
    assert transport == "kafka" or set(held) <= confirmed | open_ones


@each_cell("F05", backend_name="backend")
def test_while_it_is_frozen_the_queue_stays_within_the_bound(story: Story, transport: str, backend: str) -> None:
    cell = transport, backend
    burst = story.steps["burst"][cell]["ledger"]
    assert burst["queued"] + burst["in_flight"] <= QUEUE
    assert burst["refused"]["full"] >= BURST - QUEUE


@each_cell("F21", backend_name="backend")
def test_every_segment_that_was_confirmed_is_found_by_its_query(story: Story, transport: str, backend: str) -> None:
    """Segments confirmed before the kill are found before the kill: the OAP's storage is its memory."""
    cell = transport, backend
    before, after = story.ids("settled", cell, "confirmed"), story.ids("second", cell, "confirmed", since="killed")
    assert before <= set(story.held["settled"][cell])
    assert after <= set(story.held["second"][cell])
    assert before
    assert after
    ledger = story.steps["second"][cell]["ledger"]
    assert ledger["balanced"]
    assert ledger["queued"] == ledger["in_flight"] == 0
    assert set(ledger["dropped"]) <= reasons(story, cell)


@each_cell("F21", backend_name="backend")
def test_a_killed_oap_is_in_use_again_soon_after_its_slow_start(story: Story, transport: str, backend: str) -> None:
    assert_tried_again(story, (transport, backend))


@each_cell("F22", backend_name="backend")
def test_a_consumer_reads_each_confirmed_record_once(story: Story, transport: str, backend: str) -> None:
    """The broker was frozen, its disk was full, and it was started again."""
    cell = transport, backend
    held = story.held["second"][cell]
    verdicts = ("confirmed", "AmbiguousError", "RetryableError", "CancelledError")
    confirmed, ambiguous, unsent, cancelled = (story.ids("second", cell, each) for each in verdicts)
    assert max(held.values()) == 1
    assert confirmed <= set(held)
    assert not (unsent - confirmed - ambiguous - cancelled) & set(held), "what was said to be unsent is not there"
    assert len(confirmed) == story.steps["second"][cell]["ledger"]["confirmed"]
    assert not confirmed & ambiguous


@each_cell("F22", backend_name="backend")
def test_a_broker_whose_disk_was_full_is_in_use_again(story: Story, transport: str, backend: str) -> None:
    cell = transport, backend
    ledger = story.steps["second"][cell]["ledger"]
    assert_tried_again(story, cell)
    assert ledger["balanced"]
    assert ledger["queued"] == ledger["in_flight"] == 0
    assert "ambiguous" in ledger["dropped"]
    assert set(ledger["dropped"]) <= reasons(story, cell)
