"""Threads that log while the capture comes and goes."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterator

import pytest

from kit.forks import FORKS, in_a_child

from .captured import Captured, capturing, places

_THREADS = 8
_RECORDS = 300


@pytest.fixture(autouse=True)
def _frequent_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def _run(*works: threading.Thread) -> None:
    for each in works:
        each.start()
    for each in works:
        each.join(30)
    assert not any(each.is_alive() for each in works)


def test_threads_that_log_at_once_lose_and_mix_nothing(captured: Captured, logger: logging.Logger) -> None:
    def work(name: str) -> None:
        for number in range(_RECORDS):
            logger.warning("%s-%d", name, number)

    _run(*(threading.Thread(target=work, args=(f"t{n}",), name=f"t{n}") for n in range(_THREADS)))
    assert len(captured.entries) == _THREADS * _RECORDS
    assert len(set(captured.texts)) == _THREADS * _RECORDS
    assert all(entry.text.startswith(dict(entry.tags)["thread"] + "-") for entry in captured.entries)


@pytest.mark.gate
@pytest.mark.parametrize("ignore_filter", [False, True])
def test_detaching_amid_threads_that_log_raises_nothing_and_leaves_nothing(
    logger: logging.Logger, ignore_filter: bool
) -> None:
    raised: list[BaseException] = []
    stop = threading.Event()

    def work() -> None:
        try:
            while not stop.is_set():
                logger.warning("low %d", 1, extra={"at": threading.get_ident()})
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=work) for _ in range(_THREADS)]
    for each in threads:
        each.start()
    before = places()
    try:
        for _ in range(20):
            with capturing(ignore_filter=ignore_filter) as captured:
                while len(captured.entries) < 20:
                    pass
    finally:
        stop.set()
        for each in threads:
            each.join(30)
    assert raised == []
    assert places() == before


@pytest.mark.gate
@FORKS[0]
@FORKS[1]
def test_a_forked_child_can_log_and_detach_amid_threads_that_log(captured: Captured, logger: logging.Logger) -> None:
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            logger.warning("low")

    def child() -> None:
        captured.entries.clear()
        logger.warning("in the child")
        captured.capture.detach()
        logger.warning("nothing")
        assert captured.texts == ["in the child"]

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    try:
        for _ in range(20):
            in_a_child(child)
    finally:
        stop.set()
        for each in threads:
            each.join(30)
