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
from faults.servers.outages import BURST, FLOOD, PATIENCE, QUEUE, REQUEST_TIMEOUT, Outages
from faults.servers.story import Story
from kit.loop_thread import LoopThread
from kit.real.kafka import Kafka
from kit.real.oap import Oap

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

MIB = 1024 * 1024
STOP = 5.5
AGE = 60.0  # seconds after which a segment is given up
IN_FLIGHT = 4  # batches at a time
# the default bound of all queues, and what everything else may take
MEMORY = (28 + 12) * MIB


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    """All of it happens once; each test looks at its own cell and its own part."""
    with ExitStack() as ends:
        oap = make(Oap)
        ends.callback(oap.close)
        kafka = make(lambda: Kafka(properties={"auto.create.topics.enable": "false"}))
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
def test_while_it_is_frozen_memory_stays_within_the_bound(story: Story, transport: str, backend: str) -> None:
    cell = transport, backend
    burst, flood = story.steps["burst"][cell]["ledger"], story.steps["flood"][cell]["ledger"]
    assert burst["queued"] + burst["in_flight"] <= QUEUE
    assert burst["refused"]["full"] >= BURST - QUEUE
    assert flood["queued_bytes"] <= 16 * MIB
    assert flood["balanced"]
    assert flood["accepted"] + sum(flood["refused"].values()) == flood["offered"] == FLOOD + 1
    assert flood["refused"].keys() <= {"full", "shed"}
    assert story.steps["flood"][cell]["rss"] - story.steps["calm"][cell]["rss"] <= MEMORY


@each_cell("F05", backend_name="backend")
def test_stopping_while_it_is_frozen_keeps_its_deadline(story: Story, transport: str, backend: str) -> None:
    answer = story.steps["frozen"][transport, backend]
    ledger = answer["ledger"]
    assert answer["seconds"] <= STOP
    assert ledger["balanced"]
    assert ledger["queued"] == ledger["in_flight"] == 0
    assert set(ledger["dropped"]) <= {"ambiguous", "shutdown"}
    assert ledger["dropped"]["ambiguous"] <= IN_FLIGHT * 512


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
    """The broker was frozen, its disk was full, it was started again, and was frozen once more."""
    cell = transport, backend
    held = story.held["frozen"][cell]
    verdicts = ("confirmed", "AmbiguousError", "RetryableError", "CancelledError")
    confirmed, *others = (
        story.ids("second", cell, each) | story.ids("frozen", cell, each) for each in verdicts
    )  # fmt: skip
    ambiguous, unsent, cancelled = others
    assert max(held.values()) == 1
    assert confirmed <= set(held)
    assert not (unsent - confirmed - ambiguous - cancelled) & set(held), "what was said to be unsent is not there"
    assert len(confirmed) == sum(story.steps[step][cell]["ledger"]["confirmed"] for step in ("second", "frozen"))
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


@each_cell("F22", backend_name="backend")
def test_segments_whose_topic_is_missing_are_rejected(story: Story, transport: str, backend: str) -> None:
    answer = story.steps["missing"][transport, backend]
    (refused,) = [note for note in answer["notes"] if note["verdict"] != "confirmed"]
    assert (refused["verdict"], refused["pause"]) == ("RejectedError", 30.0)
    assert "UnknownTopicOrPartitionError" in refused["text"]
    assert answer["ledger"]["dropped"] == {"rejected": 3}
    assert len([line for line in answer["log"] if "rejected segment records" in line]) == 1


@each_cell("F22", backend_name="backend")
def test_stopping_while_the_broker_is_down_keeps_its_deadline(story: Story, transport: str, backend: str) -> None:
    answer = story.steps["down"][transport, backend]
    assert answer["seconds"] <= STOP
    assert answer["ledger"]["balanced"]
    assert answer["ledger"]["dropped"] == {"shutdown": 5}
