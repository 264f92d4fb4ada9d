"""However many names come from outside, what is kept of them is bounded, and the rest goes under one name.

Meters have limits of their own, see tests/meters/test_limits.py.
"""

from __future__ import annotations

import gc
import logging
import threading
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from betterproto import which_one_of

from faults.covering import covers
from record.recorded import recording
from runtime.worlds import agent_of
from swagent import entry_span, exit_span, local_span
from swagent.record.cardinality import OVERFLOW, CardinalityLimit
from swagent.record.trace.carrier import parse_sw8
from swagent.signals import Signal
from swagent.testing import MemoryCollector
from swagent_proto.messages import MeterDataCollection

pytestmark = covers("D03")

MILLION = 1_000_000


@contextmanager
def keeps(size: int) -> Iterator[None]:
    """The block leaves at most so many bytes behind."""
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        yield
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before <= size
    finally:
        tracemalloc.stop()


@pytest.mark.gate
def test_a_million_names_take_the_room_of_a_thousand() -> None:
    names = CardinalityLimit("endpoints", 1000)
    kept = sum(names.keep(f"GET:/items/{number}") != OVERFLOW for number in range(MILLION))
    assert (kept, names.overflowed) == (1000, MILLION - 1000)
    with keeps(1024):
        for number in range(MILLION // 1000):
            names.keep(f"GET:/more/{number}", from_client=True)


def test_entry_spans_by_hand_have_the_same_limit() -> None:
    found = set()
    with recording(endpoint_limit=10) as recorder:
        for number in range(100):
            with entry_span(f"consume {number}"), exit_span("put", peer="queue:1") as span:
                carrier = parse_sw8(span.headers()["sw8"])
                found.add(carrier and carrier.endpoint)
    names = Counter(segment.spans[-1].name for segment in recorder.segments)
    assert set(names) == found
    assert (len(names), names[OVERFLOW]) == (11, 90)


def test_a_name_changed_while_the_span_is_open_counts_as_it_is_at_the_end() -> None:
    with recording(endpoint_limit=1) as recorder:
        for number in range(3):
            with entry_span("consume") as span:
                span.name = f"consume {number}"
    assert [segment.spans[-1].name for segment in recorder.segments] == ["consume 0", OVERFLOW, OVERFLOW]


def test_peers_beyond_the_limit_share_one_name_and_get_their_own() -> None:
    with recording(peer_limit=10) as recorder, local_span("crawl"):
        for number in range(100):
            with exit_span("GET:/", peer=f"host{number}:80") as span:
                carrier = parse_sw8(span.headers()["sw8"])
                # where the peer is an agent's, the collector learns from this which service has that address
                assert carrier is not None
                assert carrier.address == f"host{number}:80"
        with exit_span("send", peer=""):
            pass
    peers = Counter(span.peer for span in recorder.only.spans[:-1])
    assert (len(peers), peers[OVERFLOW], peers[""]) == (12, 90, 1)


def test_local_spans_have_no_limit_since_the_collector_makes_no_endpoints_of_them() -> None:
    with recording(endpoint_limit=1) as recorder:
        for number in range(3):
            with local_span(f"work {number}"):
                pass
    assert [segment.spans[-1].name for segment in recorder.segments] == ["work 0", "work 1", "work 2"]


def test_one_line_says_so_and_a_meter_counts(caplog: pytest.LogCaptureFixture) -> None:
    names = CardinalityLimit("peers", 2)
    assert names.collect() == []
    for number in range(10):
        names.keep(f"host{number}")
    lines = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert lines == ["2 peers were reported; from now on new ones are called _overflow"]
    assert names.collect() == [("swagent_names_overflow", (("kind", "peers"),), 8.0)]


def test_many_threads_together_keep_the_limit() -> None:
    names = CardinalityLimit("endpoints", 100)
    kept: list[str] = []
    start = threading.Barrier(8)

    def work(thread: int) -> None:
        start.wait()
        kept.extend(names.keep(f"{thread} {number}") for number in range(1_000))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts = Counter(kept)
    assert len(counts) == 101
    assert counts[OVERFLOW] == names.overflowed == 8_000 - 100


@pytest.mark.anyio
async def test_an_agent_has_the_limits_that_were_set_and_reports_what_is_beyond() -> None:
    collector = MemoryCollector()
    async with agent_of(collector, endpoint_limit=1, peer_limit=2, meter_reporter_active=True) as agent:
        for number in range(5):
            with entry_span(f"entry {number}"), exit_span("call", peer=f"host{number}:1"):
                pass
    assert (agent.tracer.endpoints.overflowed, agent.tracer.peers.overflowed) == (4, 3)
    (report,) = collector.records[Signal.METER]
    meters = MeterDataCollection().parse(report).meter_data
    singles = [each.single_value for each in meters if which_one_of(each, "metric")[0] == "single_value"]
    counts = {each.labels[0].value: each.value for each in singles if each.name == "swagent_names_overflow"}
    assert counts == {"endpoints": 4, "peers": 3}
