"""Producers that are forgotten, abandoned or closed, by the inner parts of aiokafka that `_aiokafka` touches."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiokafka.errors import KafkaConnectionError

from kit.client import quiet_process
from kit.each import kafka_client
from swagent.errors import RetryableError
from swagent.signals import Signal
from swagent_transports._aiokafka import Producer

SERVERS = ["127.0.0.1:1"]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
async def test_a_producer_that_is_simply_forgotten_says_nothing() -> None:
    problems: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context))
    with quiet_process():
        producer = Producer({"request_timeout_ms": 5000}, {}, SERVERS)
        with pytest.raises(OSError):
            await producer.wait_started()
        del producer
        await asyncio.sleep(0.01)
    assert not problems


@pytest.mark.anyio
async def test_batches_of_an_abandoned_producer_show_whether_they_may_have_left() -> None:
    producer: Any = Producer({"request_timeout_ms": 100}, {}, SERVERS)
    accumulator = producer._producer._message_accumulator
    waiting, leaving = producer.create_batch(), producer.create_batch()
    left = accumulator._append_batch(leaving, ("topic", 0))
    accumulator._pop_batch(("topic", 0))
    stayed = accumulator._append_batch(waiting, ("topic", 1))
    producer.abandon()
    assert type(left.future.exception()) is KafkaConnectionError
    assert type(stayed.future.exception()).__name__ == "NodeNotReadyError"
    await producer.wait_gone(1.0)


@pytest.mark.anyio
async def test_closed_before_a_call_had_its_turn() -> None:
    async with kafka_client(*SERVERS) as client:
        call = asyncio.ensure_future(client.transport.send(Signal.SEGMENT, [b"a record"]))
        await asyncio.sleep(0)
        await client.transport.aclose()
        with pytest.raises(RetryableError):
            await call
