"""The span of a message that a consumer has handed out, in threads of a pool."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from record.recorded import Recorder
from swagent import current_span, local_span
from swagent.instrument.libraries.messaging.inbox import handing_out, inbox_of
from swagent.record.trace.span import Span


def begin(*_: object) -> Span:
    return local_span("message").start()


class Consumer:
    def poll(self) -> bytes:
        return b"1"


@pytest.fixture
def consumer(monkeypatch: pytest.MonkeyPatch) -> Consumer:
    monkeypatch.setattr(Consumer, "poll", handing_out(begin)(Consumer.poll))
    return Consumer()


def other_work() -> bool:
    """Later work in the same thread. Returns whether a span was active when it began."""
    is_inside = current_span() is not None
    with local_span("other"):
        pass
    return is_inside


@pytest.mark.parametrize("asked", [lambda consumer: consumer.poll, lambda consumer: lambda: [consumer.poll()]])
def test_it_ends_with_the_piece_of_work_that_asked_for_the_message(
    recorder: Recorder, consumer: Consumer, asked: Callable[[Consumer], Callable[[], Any]]
) -> None:
    with ThreadPoolExecutor(1) as pool:
        for _ in range(2):
            pool.submit(asked(consumer)).result()
            assert not pool.submit(other_work).result()
    assert recorder.names == [["message"], ["other"], ["message"], ["other"]]


def test_it_lasts_while_that_piece_of_work_does(recorder: Recorder, consumer: Consumer) -> None:
    def consume() -> None:
        for number in range(3):
            consumer.poll()
            with local_span(f"work {number}"):
                pass

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(consume)
        future.result()
        assert not pool.submit(other_work).result()
    assert recorder.names == [*(["message", f"work {number}"] for number in range(3)), ["other"]]


def test_a_message_that_a_task_waits_for_is_in_no_other_s_trace(recorder: Recorder, consumer: Consumer) -> None:
    async def live() -> bool:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(1))
        await loop.run_in_executor(None, consumer.poll)
        with local_span("request"):
            return await loop.run_in_executor(None, other_work)

    assert not asyncio.run(live())
    assert ["other"] in recorder.names


def test_elsewhere_it_lasts_until_the_next_is_asked_for(recorder: Recorder, consumer: Consumer) -> None:
    consumer.poll()
    with local_span("work"):
        pass
    consumer.poll()
    assert recorder.names == [["message", "work"]]
    inbox_of(consumer).end()
    assert recorder.names == [["message", "work"], ["message"]]
