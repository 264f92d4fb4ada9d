"""A gauge is foreign code: whatever it does costs its own value only."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kit.stopwatch import Stopwatch
from meters.readings import PATIENCE, singles, value_of
from swagent import system_thread
from swagent.meters import Counter, Gauge, MeterRegistry
from swagent.system_thread import SystemThread


@pytest.fixture
def stuck() -> Iterator[Callable[[], float]]:
    """A gauge that does not answer before the test is over; its thread is over then too."""
    release = threading.Event()

    def ask() -> float:
        release.wait(10)
        return 1.0

    yield ask
    release.set()
    for thread in _gauge_threads():
        thread.join(10)


def _gauge_threads() -> list[SystemThread]:
    return [each for each in system_thread.alive() if each.name == "swagent gauges"]


def test_a_gauge_is_asked_at_each_report(registry: MeterRegistry) -> None:
    values = iter([3, 4.5, True])
    Gauge("queue", lambda: next(values), labels={"of": "mail"}, registry=registry)
    assert [value_of(registry, "queue", (("of", "mail"),)) for _ in range(3)] == [3, 4.5, 1]


def _raise(error: BaseException) -> Any:
    raise error


@pytest.mark.parametrize(
    "bad",
    [lambda: _raise(RuntimeError("broken")), lambda: _raise(SystemExit()), lambda: _raise(KeyboardInterrupt()),
     lambda: None, lambda: math.nan, lambda: math.inf, lambda: "3", lambda: 10**400, lambda: 1 / 0, lambda x: x],
)  # fmt: skip
def test_one_without_a_value_is_left_out_and_counted(registry: MeterRegistry, bad: Any) -> None:
    Gauge("bad", bad, registry=registry)
    Gauge("good", lambda: 7, registry=registry)
    registry.collect(PATIENCE)
    assert singles(registry.collect(PATIENCE)) == {("good", ()): 7, ("swagent_meter_ignored", ()): 2}


def test_one_that_does_not_answer_holds_up_no_other(registry: MeterRegistry, stuck: Callable[[], float]) -> None:
    Gauge("stuck", stuck, registry=registry)
    Gauge("good", lambda: 7, registry=registry)
    Counter("orders", registry=registry).increment()
    watch = Stopwatch()
    first = singles(registry.collect(patience=0.5))
    assert watch.own_seconds < 1.5
    assert first[("orders", ())] == 1
    for _ in range(3):
        later = singles(registry.collect(PATIENCE))
        assert later[("good", ())] == 7, "who was late is asked last"
    assert ("stuck", ()) not in later
    assert later[("swagent_meter_ignored", ())] == 4
    # the last round's may be about to end
    until = time.monotonic() + 10
    while len(_gauge_threads()) > 1 and time.monotonic() < until:
        time.sleep(0.001)
    assert len(_gauge_threads()) == 1, "and holds one thread, not one each time"


def test_a_late_answer_is_not_heard_and_a_timely_one_is_again(registry: MeterRegistry) -> None:
    release = threading.Event()
    Gauge("slow", lambda: release.wait(10), registry=registry)
    assert value_of(registry, "slow", patience=0.05) is None
    release.set()
    for thread in _gauge_threads():
        thread.join(10)
    assert value_of(registry, "slow") == 1


def test_removed_it_is_forgotten_and_its_name_free(registry: MeterRegistry) -> None:
    gauge = Gauge("queue", lambda: 1, registry=registry)
    other = Gauge("queue", lambda: 2, labels={"of": "mail"}, registry=registry)
    gauge.remove()
    gauge.remove()
    assert singles(registry.collect(PATIENCE)) == {("queue", (("of", "mail"),)): 2}
    other.remove()
    Counter("queue", registry=registry)


def test_made_again_it_asks_the_new_function_and_an_old_handle_does_not_remove_that(registry: MeterRegistry) -> None:
    gauge = Gauge("queue", lambda: 1, registry=registry)
    Gauge("queue", lambda: 2, registry=registry)
    assert value_of(registry, "queue") == 2
    gauge.remove()
    Gauge("queue", lambda: 3, registry=registry)
    gauge.remove()
    assert value_of(registry, "queue") == 3


def test_without_gauges_there_is_no_thread(registry: MeterRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SystemThread, "start", lambda _: _raise(AssertionError("a thread")))
    Counter("orders", registry=registry)
    assert value_of(registry, "orders") == 0


def test_a_system_without_threads_costs_the_gauges_only(
    registry: MeterRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    Gauge("queue", lambda: 1, registry=registry)
    Counter("orders", registry=registry)
    monkeypatch.setattr(SystemThread, "start", lambda _: _raise(RuntimeError("can't start new thread")))
    assert singles(registry.collect()) == {("orders", ()): 0, ("swagent_meter_ignored", ()): 1}


async def _coroutine() -> float:
    return 1.0


@pytest.mark.parametrize("ask", [3, None, _coroutine])
def test_a_gauge_that_cannot_be_asked_is_refused(registry: MeterRegistry, ask: Any) -> None:
    with pytest.raises(TypeError, match="plain function"):
        Gauge("queue", ask, registry=registry)
