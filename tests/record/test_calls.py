"""Exit spans of the usual kinds: their tags, their layers, and nothing that may be private."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from swagent import Component, Layer, Span, cache_span, database_span, message_span, rpc_span
from swagent.record.trace.model import SpanKind

from .recorded import Recorder

CALLS: list[Callable[..., Span]] = [database_span, cache_span, message_span, rpc_span]


def tags(recorder: Recorder) -> dict[str, str]:
    [span] = recorder.only.spans
    assert span.kind is SpanKind.EXIT
    return dict(span.tags)


def test_a_database(recorder: Recorder) -> None:
    said = {"type": "postgresql", "instance": "shop", "statement": "SELECT * FROM orders WHERE id = $1"}
    with database_span("SELECT orders", "db:5432", component=Component.ASYNCPG, **said):
        pass
    assert tags(recorder) == {f"db.{key}": value for key, value in said.items()}
    [span] = recorder.only.spans
    assert (span.layer, span.component, span.peer) == (Layer.DATABASE, Component.ASYNCPG, "db:5432")


def test_a_cache(recorder: Recorder) -> None:
    with cache_span("Redis/GET", "cache:6379", component=Component.REDIS, type="redis", op="read", command="GET"):
        pass
    assert tags(recorder) == {"cache.type": "redis", "cache.op": "read", "cache.cmd": "GET"}
    assert recorder.only.spans[0].layer == Layer.CACHE


def test_a_producer(recorder: Recorder) -> None:
    with message_span("Kafka/orders/Producer", "u:secret@kafka:9092", component=Component.KAFKA_PRODUCER,
                      topic="orders", queue="0") as span:  # fmt: skip
        assert "sw8" in span.headers()
    assert tags(recorder) == {"mq.broker": "kafka:9092", "mq.topic": "orders", "mq.queue": "0"}
    assert recorder.only.spans[0].layer == Layer.MQ


def test_a_remote_call(recorder: Recorder) -> None:
    with rpc_span("/shop.Orders/Get", "orders:443", method="/shop.Orders/Get", url="orders:443/shop.Orders"):
        pass
    assert tags(recorder) == {"grpc.method": "/shop.Orders/Get", "grpc.url": "orders:443/shop.Orders"}
    [span] = recorder.only.spans
    assert (span.layer, span.component) == (Layer.RPC_FRAMEWORK, Component.GRPC)


@pytest.mark.parametrize("call", CALLS)
def test_a_missing_value_is_no_tag(recorder: Recorder, call: Callable[..., Span]) -> None:
    with call("call", "peer:1"):
        pass
    assert set(tags(recorder)) <= {"mq.broker"}


class Mute:
    def __str__(self) -> str:
        raise LookupError

    def __bool__(self) -> bool:
        raise LookupError


@pytest.mark.parametrize("odd", [Mute(), 7, b"x", [], None])
def test_anything_may_be_handed_in(recorder: Recorder, odd: Any) -> None:
    with (
        database_span(odd, odd, component=odd, type=odd, instance=odd, statement=odd),
        cache_span(odd, odd, component=odd, type=odd, op=odd, command=odd),
        message_span(odd, odd, component=odd, topic=odd, queue=odd),
        rpc_span(odd, odd, component=odd, method=odd, url=odd),
    ):
        pass
    assert len(recorder.only.spans) == 4


def test_without_an_agent_nothing_happens() -> None:
    for call in CALLS:
        with call("call", "peer:1") as span:
            assert not span.is_recorded
