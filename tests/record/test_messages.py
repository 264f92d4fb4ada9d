"""One entry span for each message that comes in, which lasts as long as the work on it."""

from __future__ import annotations

import gc
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from swagent import Component, Layer, current_span, current_trace_id, entry_span, get_correlation
from swagent.messages import consume
from swagent.record.trace.carrier import Carrier, format_correlation, format_sw8
from swagent.record.trace.context import current
from swagent.record.trace.model import SpanKind

from .recorded import Recorder, recording, work

pytestmark = pytest.mark.anyio

SW8 = format_sw8(Carrier(True, "trace-1", "segment-1", 3, "web", "web-1", "GET:/cart", "kafka:9092"))
CORRELATION = format_correlation({"tenant": "acme"})


class Consumer:
    """As aiokafka's: an iterator that is not a generator."""

    def __init__(self, *messages: Any, group: str | None = "shop") -> None:
        self._group_id = group
        self._messages = list(messages)

    def __aiter__(self) -> Consumer:
        return self

    async def __anext__(self) -> Any:
        assert current_span() is None, "the last message's span has ended before the next one is waited for"
        await checkpoint()
        if not self._messages:
            raise StopAsyncIteration
        return self._messages.pop(0)


def message(headers: Any = (), topic: Any = "orders", **others: Any) -> SimpleNamespace:
    return SimpleNamespace(topic=topic, headers=headers, **others)


async def test_each_message_has_a_span_that_is_active_in_the_body(recorder: Recorder) -> None:
    async for each in consume(Consumer(message(number=0), message(number=1))):
        assert current_span() is not None
        work(f"work {each.number}")
        await checkpoint()
        assert len(recorder.segments) == each.number, "it ends when the next message is asked for"
    assert current_span() is None
    assert recorder.names == [["Kafka/orders/Consumer/shop", f"work {number}"] for number in range(2)]
    assert len({segment.trace_id for segment in recorder.segments}) == 2
    for segment in recorder.segments:
        span = max(segment.spans, key=lambda span: -span.id)
        assert (span.kind, span.layer, span.component) == (SpanKind.ENTRY, Layer.MQ, Component.KAFKA_CONSUMER)
        assert span.tags == [("mq.topic", "orders")]
        assert not span.failed


@pytest.mark.parametrize(
    "sent",
    [
        message([("sw8", SW8.encode()), ("sw8-correlation", CORRELATION.encode())]),  # aiokafka
        message((("SW8", SW8), (b"sw8-correlation", CORRELATION), ("odd",), 7)),
        message({"sw8": SW8, "sw8-correlation": CORRELATION, "other": object()}),
        message({b"sw8": memoryview(SW8.encode()), "sw8-correlation": bytearray(CORRELATION.encode())}),
        {"headers": {"sw8": SW8, "sw8-correlation": CORRELATION}},
    ],
    ids=range(5),
)
async def test_the_producers_trace_goes_on(recorder: Recorder, sent: Any) -> None:
    async for _ in consume(Consumer(sent)):
        assert current_trace_id() == "trace-1"
        assert get_correlation("tenant") == "acme"
    [reference] = recorder.only.spans[0].refs
    assert (reference.segment_id, reference.span_id) == ("segment-1", 3)


async def test_a_producers_trace_goes_on_without_sw8(recorder: Recorder) -> None:
    caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    async for _ in consume(Consumer(message([("traceparent", caller.encode()), ("tracestate", b"other=1")]))):
        assert current_trace_id() == "0af7651916cd43dd8448eb211c80319c"
    assert recorder.only.spans[0].refs == ()
    assert ("traceparent", caller) in recorder.only.spans[0].tags


class Own(BaseException):
    """An exception beside `Exception`."""


class Hostile:
    def __init__(self, error: type[BaseException]) -> None:
        self._error = error

    @property
    def headers(self) -> Any:
        raise self._error

    topic = headers


ODD: list[Any] = [
    None, 7, "text", b"bytes", [], message(None), message(7), message([("sw8", b"1-x")]), message({"sw8": 7}),
    message([("sw8", SW8), ("sw8", SW8)]), message([("sw8", None)]),
]  # fmt: skip
HOSTILE = [Hostile(LookupError), Hostile(Own)]


@pytest.mark.parametrize("sent", [*ODD, *HOSTILE], ids=range(len(ODD) + len(HOSTILE)))
async def test_a_message_without_a_context_begins_a_trace(recorder: Recorder, sent: Any) -> None:
    got = [each async for each in consume(Consumer(sent, message()))]
    assert got[0] is sent
    assert recorder.segments[-1].names == ["Kafka/orders/Consumer/shop"]
    assert len(recorder.segments) == (1 if sent in HOSTILE else 2), "what cannot be read is delivered, without a span"
    assert recorder.segments[0].spans[0].refs == ()


async def test_a_caller_that_is_not_trusted_is_not_continued() -> None:
    with recording(trust_incoming=False) as recorder:
        async for _ in consume(Consumer(message({"sw8": SW8}))):
            pass
    assert recorder.only.spans[0].refs == ()


@pytest.mark.parametrize(
    ("said", "group", "sent", "expected"),
    [
        ({"name": "jobs"}, "shop", message(), "jobs"),
        ({"group": "other"}, "shop", message(), "Kafka/orders/Consumer/other"),
        ({}, "shop", message(topic=None), "Consumer"),
        ({}, None, message(), "Kafka/orders/Consumer"),
        ({"name": "jobs"}, "shop", "text", "jobs"),
    ],
)
async def test_the_name(recorder: Recorder, said: Any, group: str | None, sent: Any, expected: str) -> None:
    async for _ in consume(Consumer(sent, group=group), broker="u:secret@kafka:9092", component=52, **said):
        pass
    assert recorder.names == [[expected]]
    [span] = recorder.only.spans
    assert span.tags[0] == ("mq.broker", "kafka:9092")
    assert span.component == 52


@pytest.mark.parametrize("by", ["break", "an exception", "a cancellation"])
async def test_a_loop_that_is_left_ends_the_span_at_once(recorder: Recorder, by: str) -> None:
    with suppress(LookupError), anyio.CancelScope() as scope:
        async for _ in consume(Consumer(message(), message())):
            if by == "an exception":
                raise LookupError
            if by == "a cancellation":
                scope.cancel()
                await anyio.sleep_forever()
            break
    gc.collect()  # where the interpreter counts no references
    [span] = recorder.only.spans
    assert not span.failed, "only the body can know"
    assert current_span() is None
    work("afterwards")
    assert recorder.names[1:] == [["afterwards"]]


async def test_a_wait_that_is_cancelled_has_no_span(recorder: Recorder) -> None:
    class Quiet(Consumer):
        async def __anext__(self) -> Any:
            if not self._messages:
                scope.cancel()
                await anyio.sleep_forever()
            return await super().__anext__()

    with anyio.CancelScope() as scope:
        async for _ in consume(Quiet(message())):
            pass
    assert scope.cancelled_caught
    [span] = recorder.only.spans
    assert span.tags == [("mq.topic", "orders")]


async def test_a_generator_is_a_source_too_and_is_closed(recorder: Recorder) -> None:
    is_closed = False

    async def numbers() -> AsyncGenerator[int]:
        nonlocal is_closed
        try:
            for number in range(9):
                yield number
        finally:
            is_closed = True

    async with aclosing(consume(numbers(), name="numbers")) as messages:
        async for number in messages:
            if number == 2:
                break
    assert is_closed
    assert recorder.names == [["numbers"]] * 3


async def test_the_source_s_own_error_passes(recorder: Recorder) -> None:
    async def broken() -> AsyncIterator[int]:
        yield 1
        raise LookupError

    with suppress(LookupError):
        async for _ in consume(broken(), name="numbers"):
            pass
    assert recorder.names == [["numbers"]]


async def test_messages_inside_of_a_span_return_to_it(recorder: Recorder) -> None:
    with entry_span("job") as job:
        async for _ in consume(_one(), name="message"):
            assert current_span() is not job
        assert current_span() is job
    assert recorder.names == [["message"], ["job"]]


async def _one() -> AsyncIterator[int]:
    yield 1


async def test_without_an_agent_messages_are_delivered() -> None:
    current.set(None)
    assert [each async for each in consume(_one())] == [1]
    assert current_trace_id() == ""


async def test_nothing_is_iterated_that_cannot_be() -> None:
    with pytest.raises((TypeError, AttributeError)):
        consume([1, 2, 3])  # type: ignore[arg-type]
