"""The report goes on, whatever the gauges do."""

from __future__ import annotations

import logging
import threading

import anyio
import anyio.to_thread
import pytest

from kit.stopwatch import Stopwatch
from meters.reports import Reported, lag_of, report
from swagent import system_thread
from swagent.meters import Counter, Gauge, MeterRegistry

pytestmark = pytest.mark.anyio


async def test_every_loop(registry: MeterRegistry) -> None:
    reported = Reported()
    Counter("orders", registry=registry).increment()
    Gauge("queue", lambda: 5, registry=registry)
    enough = anyio.Event()
    reported.then = lambda: enough.set() if len(reported.values) == 3 else None
    meters = report(registry, reported, 0.05)
    async with anyio.create_task_group() as group:
        group.start_soon(meters.run)
        with anyio.fail_after(10):
            await enough.wait()
        group.cancel_scope.cancel()
    for values in reported.values:
        assert (values[("orders", ())], values[("queue", ())]) == (1, 5)
        assert 0 <= lag_of(values) < 5000
    for thread in system_thread.alive():
        if thread.name == "swagent gauges":  # one may have been asking when its round was called off
            thread.join(10)
            assert not thread.is_alive()


async def test_a_gauge_that_does_not_answer_holds_up_neither_loop_nor_report(
    registry: MeterRegistry, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("LONGEST_WAIT", "LAST_PATIENCE"):
        monkeypatch.setattr(f"swagent.runtime.meter_report.{name}", 0.5)
    release = threading.Event()
    reported = Reported()
    Gauge("stuck", lambda: release.wait(10), registry=registry)
    Gauge("good", lambda: 7, registry=registry)
    Counter("orders", registry=registry)
    meters = report(registry, reported, 0.05)
    turns = 0
    try:
        with caplog.at_level(logging.WARNING, logger="swagent"):
            async with anyio.create_task_group() as group:
                group.start_soon(meters.run)
                with anyio.fail_after(10):
                    while len(reported.values) < 3:
                        await anyio.sleep(0.001)
                        turns += 1
                group.cancel_scope.cancel()
        watch = Stopwatch()
        meters.report_now()
        assert watch.own_seconds < 1
    finally:
        release.set()
    assert turns > 20
    assert all(values[("orders", ())] == 0 for values in reported.values)
    assert [values.get(("good", ())) for values in reported.values[1:]] == [7, 7, 7]
    assert not any(("stuck", ()) in values for values in reported.values)
    assert [record.getMessage() for record in caplog.records] == ["no value from these gauges: stuck"], "once is enough"


async def test_cancelled_while_gauges_are_asked_no_rate_is_lost(registry: MeterRegistry) -> None:
    release = threading.Event()
    asked = threading.Event()

    def ask() -> float:
        asked.set()
        release.wait(10)
        return 1.0

    Gauge("slow", ask, registry=registry)
    Counter("orders", mode="rate", registry=registry).increment(3)
    reported = Reported()
    meters = report(registry, reported, 0.01)
    async with anyio.create_task_group() as group:
        group.start_soon(meters.run)
        await anyio.to_thread.run_sync(asked.wait, 10)
        group.cancel_scope.cancel()
    assert reported.values == []
    meters.report_now()
    release.set()
    assert reported.values[0][("orders", ())] == 3
    assert ("swagent_loop_lag", ()) not in reported.values[0], "the last report is not woken by a timer"
