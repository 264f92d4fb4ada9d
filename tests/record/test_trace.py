"""`@trace` on every kind of function: a span around it, and the function otherwise unchanged."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Generator

import pytest
from anyio.lowlevel import checkpoint

from swagent import current_span, entry_span, trace

from .recorded import Recorder, work


def _current() -> str:
    span = current_span()
    return span.name if span is not None else ""


@trace
def add(one: int, *, other: int = 1) -> int:
    """Adds."""
    assert _current() == "add"
    return one + other


@trace("fetch it")
async def fetch(item: str) -> str:
    await checkpoint()
    assert _current() == "fetch it"
    return item


@trace()
def converse() -> Generator[str, str, str]:
    heard: list[str] = []
    while True:
        assert _current() == "converse"
        try:
            heard.append((yield f"heard {len(heard)}"))
        except LookupError:
            return ",".join(heard)


@trace("converse")
async def aconverse() -> AsyncGenerator[str, str]:
    heard: list[str] = []
    try:
        while True:
            await checkpoint()
            assert _current() == "converse"
            try:
                heard.append((yield f"heard {','.join(heard)}"))
            except LookupError:
                yield "caught"
                return
    finally:
        await checkpoint()
        work("clean up")


def test_a_function_is_traced_under_its_name(recorder: Recorder) -> None:
    with entry_span("request"):
        assert add(1, other=2) == 3
    assert recorder.parent_of("add") == "request"


def test_a_traced_function_is_the_same_to_whoever_asks() -> None:
    assert (add.__name__, add.__doc__) == ("add", "Adds.")
    assert list(inspect.signature(add).parameters) == ["one", "other"]
    assert inspect.iscoroutinefunction(fetch)
    assert inspect.isgeneratorfunction(converse)
    assert inspect.isasyncgenfunction(aconverse)


def test_methods_are_traced_under_their_qualified_names(recorder: Recorder) -> None:
    class Cart:
        @trace
        def total(self) -> int:
            return 7

        @staticmethod
        @trace
        def currency() -> str:
            return "EUR"

        @classmethod
        @trace
        def empty(cls) -> Cart:
            return cls()

    assert (Cart().total(), Cart.currency(), type(Cart.empty())) == (7, "EUR", Cart)
    assert [names[0].rpartition(".")[2] for names in recorder.names] == ["total", "currency", "empty"]
    assert all("Cart." in names[0] for names in recorder.names)


def test_a_callable_without_a_name_is_traced_under_its_kind(recorder: Recorder) -> None:
    assert trace(functools.partial(int, base=2))("11") == 3
    assert recorder.names == [["partial"]]


def test_an_exception_of_a_function_marks_its_span_and_goes_on(recorder: Recorder) -> None:
    with pytest.raises(TypeError):
        add(1, other="2")  # type: ignore[arg-type]
    assert recorder.span("add").failed


def test_a_generator_is_traced_from_its_first_step_to_its_end(recorder: Recorder) -> None:
    with entry_span("request"):
        conversation = converse()
        assert _current() == "request"
        assert next(conversation) == "heard 0"
        assert _current() == "request"
        assert conversation.send("a") == "heard 1"
        assert conversation.send("b") == "heard 2"
        with pytest.raises(StopIteration) as end:
            conversation.throw(LookupError())
        assert end.value.value == "a,b"
        assert _current() == "request"
    assert recorder.only.names == ["request", "converse"]
    assert not recorder.span("converse").failed


def test_a_generator_that_is_closed_is_no_failure_and_one_that_never_begins_is_not_traced(recorder: Recorder) -> None:
    converse().close()
    assert recorder.segments == []
    conversation = converse()
    next(conversation)
    conversation.close()
    assert not recorder.span("converse").failed


def test_a_generators_failure_marks_its_span_and_goes_on(recorder: Recorder) -> None:
    conversation, error = converse(), ZeroDivisionError()
    next(conversation)
    with pytest.raises(ZeroDivisionError) as caught:
        conversation.throw(error)
    assert caught.value is error
    assert recorder.span("converse").failed


@pytest.mark.anyio
class TestAsync:
    async def test_a_coroutine_is_traced_under_the_name_given(self, recorder: Recorder) -> None:
        with entry_span("request"):
            assert await fetch("it") == "it"
        assert recorder.parent_of("fetch it") == "request"

    async def test_an_async_generator_is_traced_from_its_first_step_to_its_end(self, recorder: Recorder) -> None:
        with entry_span("request"):
            conversation = aconverse()
            assert await conversation.__anext__() == "heard "
            assert _current() == "request"
            assert await conversation.asend("a") == "heard a"
            assert await conversation.asend("b") == "heard a,b"
            assert await conversation.athrow(LookupError()) == "caught"
            with pytest.raises(StopAsyncIteration):
                await conversation.__anext__()
            assert _current() == "request"
        assert recorder.only.names == ["request", "converse", "clean up"]
        assert recorder.parent_of("clean up") == "converse"
        assert not recorder.span("converse").failed

    async def test_an_async_generator_can_be_looped_over(self, recorder: Recorder) -> None:
        @trace("count")
        async def count() -> AsyncGenerator[int, None]:
            for number in range(3):
                await checkpoint()
                yield number

        assert [number async for number in count()] == [0, 1, 2]
        assert recorder.names == [["count"]]

    async def test_a_closed_async_generator_cleans_up_and_is_no_failure(self, recorder: Recorder) -> None:
        conversation = aconverse()
        await conversation.__anext__()
        await conversation.aclose()
        assert recorder.only.names == ["converse", "clean up"]
        assert not recorder.span("converse").failed

    async def test_an_async_generators_failure_marks_its_span_and_goes_on(self, recorder: Recorder) -> None:
        error = ZeroDivisionError()
        conversation = aconverse()
        await conversation.__anext__()
        with pytest.raises(ZeroDivisionError) as caught:
            await conversation.athrow(error)
        assert caught.value is error
        assert recorder.span("converse").failed
