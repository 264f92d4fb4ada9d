"""An error inside of an instrumentation costs the span, and never the call or the spans after it."""

from __future__ import annotations

import asyncio
import gc
import logging
import warnings
from collections.abc import Coroutine
from typing import Any

import pytest

from record.recorded import Recorder
from swagent import local_span
from swagent.agent_log import RateLimitedLog
from swagent.instrument import call
from swagent.instrument.wrapping import around_call
from swagent.record.trace.model import Component, Layer
from swagent.record.trace.span import Span


def _begin() -> Span:
    span = call.begin_call("/orders", "stock.test:80", Layer.HTTP, Component.HTTPX)
    assert span is not None
    return span


def _broken(*_: object) -> None:
    raise RuntimeError("not as expected")


@pytest.fixture(autouse=True)
def _fresh_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call, "_limited", RateLimitedLog())


def test_a_span_that_cannot_be_settled_is_the_active_one_no_longer(
    recorder: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "swagent"), local_span("job"):
        call.settle(_broken, _begin())
        assert call.outer_call() is None
        call.settle(call.end_call, _begin())
    assert recorder.names == [["job", "/orders", "/orders"]]
    assert ["could not record a call" in record.getMessage() for record in caplog.records] == [True]


def test_a_broken_hook_is_no_error_of_the_call(recorder: Recorder, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "swagent"):
        assert call.safely(_broken) is None
    assert len(caplog.records) == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, asyncio.CancelledError])
def test_an_exception_that_ends_the_task_passes(error: type[BaseException], recorder: Recorder) -> None:
    def end(*_: object) -> None:
        raise error

    with pytest.raises(error):
        call.safely(end)
    with pytest.raises(error):
        call.settle(end, _begin())
    assert recorder.names == [["/orders"]]


@pytest.mark.usefixtures("recorder")
def test_a_coroutine_in_place_of_a_coroutine_has_its_name() -> None:
    class Statement:
        async def _fetch(self) -> int:
            return 7

        def fetch(self) -> Coroutine[Any, Any, int]:
            return self._fetch()

    traced = around_call(lambda *_: _begin(), is_awaited=True)(Statement.fetch)
    made = traced(Statement())
    assert (made.__name__, made.__qualname__) == ("_fetch", Statement._fetch.__qualname__)
    assert asyncio.run(made) == 7


def test_a_coroutine_whose_task_is_cancelled_before_it_runs_is_no_warning(recorder: Recorder) -> None:
    async def fetch(_: object) -> None:
        raise AssertionError("it is cancelled")

    async def cancel_at_once() -> None:
        task: asyncio.Task[None] = asyncio.create_task(traced(object()))
        task.cancel()
        await asyncio.wait([task])

    traced = around_call(lambda *_: _begin(), is_awaited=True)(lambda statement: fetch(statement))
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        asyncio.run(cancel_at_once())
        gc.collect()
    assert not heard
    assert recorder.names == []
