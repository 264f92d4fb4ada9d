"""A forked child reports as an instance of its own, so it starts from zero."""

from __future__ import annotations

import threading

from kit.forks import FORKS, in_a_child
from meters.readings import PATIENCE, hits_of, singles
from swagent.meters import Counter, Gauge, Histogram, MeterRegistry

pytestmark = FORKS


def test_a_child_counts_from_zero_and_the_parent_goes_on(registry: MeterRegistry) -> None:
    registry.limit = 3
    orders = Counter("orders", registry=registry)
    rate = Counter("rate", mode="rate", registry=registry)
    sizes = Histogram("size", [1], registry=registry)
    stray = Counter("stray", registry=registry)

    def count() -> None:
        orders.increment(2)
        rate.increment(2)
        sizes.observe(2)
        stray.increment()

    def check() -> None:
        overflow = "swagent_meter_overflow", (("_overflow", "true"), ("kind", "counter"))
        assert singles(registry.collect()) == {("orders", ()): 2, ("rate", ()): 2, overflow: 1}
        assert hits_of(registry, "size") == [0, 1]

    def child() -> None:
        count()
        check()

    count()
    in_a_child(child)
    check()


def test_locks_and_gauges_that_another_thread_held_are_free_in_the_child(registry: MeterRegistry) -> None:
    orders = Counter("orders", registry=registry)
    release = threading.Event()
    Gauge("queue", lambda: 5 if release.is_set() else release.wait(10), registry=registry)
    answered, held = threading.Event(), threading.Event()
    registry.ask_gauges(answered.set)

    def hold() -> None:
        with registry._lock, orders._series._lock:  # type: ignore[union-attr]
            held.set()
            release.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()

    def child() -> None:
        release.set()
        orders.increment()
        assert singles(registry.collect(PATIENCE)) == {("orders", ()): 1, ("queue", ()): 5}

    try:
        in_a_child(child)
    finally:
        release.set()
        thread.join()
    answered.wait(10)
    assert singles(registry.collect(PATIENCE))["queue", ()] == 5
