"""The runtime's meters: under the names that the collector's rules read, plausible, and without a trace left behind."""

from __future__ import annotations

import gc
import logging
import sys
import threading
import time
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from meters.readings import singles
from swagent.inspection.garbage_time import GarbageTime, garbage_time
from swagent.ledger import SignalStatistics, Statistics
from swagent.record.meters.samples import Bucket, HistogramSample
from swagent.self_meters.garbage import GcMeters
from swagent.self_meters.ledger import LedgerMeters
from swagent.self_meters.process import ProcessMeters
from swagent.self_meters.runtime import RuntimeMeters
from swagent.signals import Signal

RULED = {
    "instance_pvm_total_cpu_utilization", "instance_pvm_process_cpu_utilization", "instance_pvm_total_mem_utilization",
    "instance_pvm_process_mem_utilization", "instance_pvm_gc_g0", "instance_pvm_gc_g1", "instance_pvm_gc_g2",
    "instance_pvm_gc_time", "instance_pvm_thread_active_count",
}  # fmt: skip


@pytest.fixture
def attached() -> Any:
    before = list(gc.callbacks)
    meters = RuntimeMeters(lambda: 3)
    meters.attach()
    meters.measure_process()
    yield meters
    meters.detach()
    assert gc.callbacks == before


def values(meters: RuntimeMeters | GcMeters) -> dict[str, float]:
    found = singles(meters.collect())
    assert all(labels == () for _, labels in found)
    return {name: value for (name, _), value in found.items()}


def test_the_names_are_those_of_the_rules(attached: RuntimeMeters) -> None:
    assert values(attached).keys() == {*RULED, "swagent_tasks", "swagent_memory"}


def test_work_shows(attached: RuntimeMeters) -> None:
    began = time.monotonic()
    values(attached)
    until = time.process_time() + 0.1
    while time.process_time() < until:
        pass
    found = values(attached)
    # a busy machine lets it work for a part of the time only; the system counts in steps of 0.01 s
    at_least = (0.1 - 2 * 0.01) / (time.monotonic() - began) * 100
    assert at_least < found["instance_pvm_process_cpu_utilization"] < 1000
    assert 0 < found["instance_pvm_total_cpu_utilization"] <= 100
    assert 0 < found["instance_pvm_total_mem_utilization"] < 100
    assert found["swagent_tasks"] == 3


def test_memory_is_a_share_in_percent_and_bytes(attached: RuntimeMeters) -> None:
    found, used = values(attached), psutil.Process().memory_info().rss
    assert found["swagent_memory"] == pytest.approx(used, rel=0.2)
    share = used / psutil.virtual_memory().total * 100
    assert found["instance_pvm_process_mem_utilization"] == pytest.approx(share, rel=0.2)


def test_threads_are_counted(attached: RuntimeMeters) -> None:
    # one that an earlier test left in a pool may end meanwhile
    assert any(_counted(attached, more_threads=3) == 3 for _ in range(5))


def _counted(meters: RuntimeMeters, more_threads: int) -> float:
    """By how many the count goes up when there are so many more."""
    before = values(meters)["instance_pvm_thread_active_count"]
    release = threading.Event()
    threads = [threading.Thread(target=release.wait) for _ in range(more_threads)]
    for thread in threads:
        thread.start()
    after = values(meters)["instance_pvm_thread_active_count"]
    release.set()
    for thread in threads:
        thread.join()
    return after - before


def test_collections_are_counted_and_timed(attached: RuntimeMeters) -> None:
    before = values(attached)
    junk = [[number] for number in range(100_000)]
    gc.collect()
    after = values(attached)
    assert after["instance_pvm_gc_g2"] >= before["instance_pvm_gc_g2"] + 1
    assert 0 < after["instance_pvm_gc_time"] - before["instance_pvm_gc_time"] < 10_000
    del junk
    gc.disable()
    try:
        assert values(attached)["instance_pvm_gc_time"] == values(attached)["instance_pvm_gc_time"] > 0
    finally:
        gc.enable()


def test_a_collection_under_way_at_the_attach_is_not_timed() -> None:
    meters = GcMeters()
    meters.attach()
    before = values(meters)["instance_pvm_gc_time"]
    garbage_time._note("stop", {})
    assert values(meters)["instance_pvm_gc_time"] == before
    meters.detach()


def test_the_split_of_requests_and_the_meters_share_one_callback(attached: RuntimeMeters) -> None:
    before = list(gc.callbacks)
    gc.disable()
    try:
        before_it = values(attached)["instance_pvm_gc_time"]
        spent = garbage_time.spent
        garbage_time.enter()
        assert gc.callbacks == before
        gc.collect()
        garbage_time.leave()
        assert gc.callbacks == before
        counted = (garbage_time.spent - spent) * 1000
        assert counted > 0
        assert values(attached)["instance_pvm_gc_time"] - before_it == pytest.approx(counted)
    finally:
        gc.enable()


def test_without_callbacks_the_interpreters_own_count_of_the_time_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on PyPy, which counts in milliseconds since its start."""
    spent = SimpleNamespace(total_gc_time=100)
    monkeypatch.setattr(GarbageTime, "is_known", False)
    monkeypatch.setattr(gc, "get_stats", lambda: spent)
    meters = GcMeters()
    meters.attach()
    spent.total_gc_time = 140
    assert values(meters) == {"instance_pvm_gc_time": pytest.approx(140)}
    meters.detach()


def test_attach_and_detach_leave_the_interpreter_as_it_was() -> None:
    before = list(gc.callbacks)
    for _ in range(100):
        one, other = RuntimeMeters(), RuntimeMeters()
        for each in (one, other):
            each.attach()
            each.measure_process()
        one.detach()
        one.detach()
        other.detach()
    assert gc.callbacks == before


def test_the_applications_own_watch_on_the_processor_is_not_disturbed(
    attached: RuntimeMeters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(psutil, "cpu_percent", lambda *_: pytest.fail("it remembers who asked last"))
    assert "instance_pvm_total_cpu_utilization" in values(attached)


def test_a_value_that_the_system_does_not_show_is_left_out(
    attached: RuntimeMeters, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*_: object) -> Any:
        raise psutil.AccessDenied

    monkeypatch.setattr(psutil, "virtual_memory", denied)
    monkeypatch.setattr(psutil.Process, "num_threads", denied)
    found = values(attached)
    assert RULED - found.keys() == {"instance_pvm_total_mem_utilization", "instance_pvm_thread_active_count"}


def test_the_process_is_measured_from_the_first_call_on() -> None:
    meters = RuntimeMeters()
    meters.attach()
    assert "swagent_memory" not in values(meters)
    meters.measure_process()
    assert values(meters)["instance_pvm_process_cpu_utilization"] >= 0
    began = time.process_time()
    while time.process_time() < began + 0.05:
        pass
    meters.measure_process()
    # a second call does not begin anew
    assert values(meters)["instance_pvm_process_cpu_utilization"] > 0
    meters.detach()


def _missing(*_: object) -> Any:
    raise FileNotFoundError("/proc")


@pytest.mark.parametrize("is_installed", [True, False])
def test_without_psutil_or_what_it_reads_there_are_no_meters_of_the_process(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, is_installed: bool
) -> None:
    if is_installed:
        monkeypatch.setattr(psutil, "Process", _missing)
    else:
        monkeypatch.setitem(sys.modules, "psutil", None)
        monkeypatch.delitem(sys.modules, ProcessMeters.__module__)
    meters = RuntimeMeters()
    with caplog.at_level(logging.INFO, logger="swagent"):
        meters.attach()
        meters.measure_process()
    [message] = caplog.messages
    assert is_installed or message == "no meters of the process: psutil is not installed"
    assert caplog.records[0].levelno == (logging.WARNING if is_installed else logging.INFO)
    assert values(meters).keys() == {name for name in RULED if "_gc_" in name}
    meters.detach()


def test_the_ledger_as_meters() -> None:
    segment = SignalStatistics(Signal.SEGMENT, 10, {"full": 1, "too_large": 2}, 3, {"expired": 1}, 2, 99, 1)
    log = SignalStatistics(Signal.LOG, 0, {}, 0, {}, 0, 0, 0)
    statistics = Statistics({Signal.SEGMENT: segment, Signal.LOG: log})
    latencies = {"segment": [(0.0, 5), (100.0, 1)]}
    samples = LedgerMeters(lambda: statistics, lambda: latencies).collect()
    of_segments = {
        name: value for (name, labels), value in singles(samples).items() if labels == (("signal", "segment"),)
    }
    assert of_segments == {
        "swagent_records_offered": 10, "swagent_records_confirmed": 3, "swagent_records_queued": 2,
        "swagent_records_in_flight": 1,
    }  # fmt: skip
    reasons = {(name, *labels): value for (name, labels), value in singles(samples).items() if len(labels) == 2}
    assert reasons == {
        ("swagent_records_refused", ("reason", "full"), ("signal", "segment")): 1,
        ("swagent_records_refused", ("reason", "too_large"), ("signal", "segment")): 2,
        ("swagent_records_dropped", ("reason", "expired"), ("signal", "segment")): 1,
    }
    assert samples[-1] == HistogramSample(
        "swagent_delivery_latency", (("signal", "segment"),), (Bucket(0.0, 5, False), Bucket(100.0, 1, False))
    )
    assert len(singles(LedgerMeters(lambda: statistics).collect())) == 4 + 3 + 4
