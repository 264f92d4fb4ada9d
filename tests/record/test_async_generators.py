"""A span within an async generator is current while the generator runs, and never across a `yield`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.lowlevel import checkpoint

from swagent import current_span, entry_span, local_span

from .recorded import Recorder, work

pytestmark = pytest.mark.anyio


async def _numbers(count: int = 3) -> AsyncGenerator[int, None]:
    with local_span("numbers") as span:
        for number in range(count):
            await checkpoint()
            assert current_span() is span
            work(f"inside {number}")
            yield number
            assert current_span() is span


async def test_the_consumers_spans_are_not_the_generators(recorder: Recorder) -> None:
    with entry_span("request") as request:
        async for number in _numbers():
            assert current_span() is request
            work(f"outside {number}")
            await checkpoint()
    assert {recorder.parent_of(f"inside {number}") for number in range(3)} == {"numbers"}
    assert {recorder.parent_of(f"outside {number}") for number in range(3)} == {"request"}
    assert recorder.parent_of("numbers") == "request"


async def test_a_context_manager_covers_its_body_but_is_not_current_there(recorder: Recorder) -> None:
    @asynccontextmanager
    async def session() -> AsyncIterator[None]:
        with local_span("session"):
            await checkpoint()
            yield
            await checkpoint()
            work("close")

    with entry_span("request") as request:
        async with session():
            await checkpoint()
            assert current_span() is request
            work("body")
    assert [recorder.parent_of(name) for name in ("session", "body", "close")] == ["request", "request", "session"]


@pytest.mark.parametrize("by_another_task", [False, True])
async def test_a_closed_generator_ends_its_span_without_failure(recorder: Recorder, by_another_task: bool) -> None:
    with entry_span("request"):
        numbers = _numbers()
        await anext(numbers)
        async with anyio.create_task_group() as tasks:
            if by_another_task:
                tasks.start_soon(numbers.aclose)
            else:
                await numbers.aclose()
    assert not recorder.span("numbers").failed
    assert recorder.only.names == ["request", "numbers", "inside 0"]


async def test_a_child_task_of_a_generator_belongs_to_what_is_around_it(recorder: Recorder) -> None:
    # a waiting generator does not differ from one that sleeps at its `yield`
    async def child() -> None:
        work("child")

    async def gather() -> AsyncIterator[None]:
        with local_span("gather"):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(child)
            yield

    with entry_span("request"):
        assert [each async for each in gather()] == [None]
    assert recorder.parent_of("child") == "request"
