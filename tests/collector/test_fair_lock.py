"""The lock of the database is given to the thread that waits for it."""

from __future__ import annotations

import threading

from swagent.collector.store.fair_lock import FairLock


def wait_in_turn(lock: FairLock, order: list[str]) -> threading.Thread:
    """A thread that waits for the lock; it does when this returns."""

    def wait() -> None:
        with lock:
            order.append("waited")

    thread = threading.Thread(target=wait)
    thread.start()
    while not lock._next.locked():
        pass
    return thread


def test_a_thread_may_take_it_again() -> None:
    lock, order = FairLock(), list[str]()
    with lock:
        with lock:
            waiting = wait_in_turn(lock, order)
        assert order == []
    waiting.join(20)
    assert order == ["waited"]


def test_a_thread_that_takes_it_over_and_over_lets_others_in_between() -> None:
    for _ in range(200):
        lock, order = FairLock(), list[str]()
        with lock:
            waiting = wait_in_turn(lock, order)
        with lock:
            order.append("again")
        waiting.join(20)
        assert order == ["waited", "again"]
