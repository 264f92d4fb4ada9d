"""The parts of aiokafka that `_aiokafka` touches are there, and are as it expects them."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest
from aiokafka.client import AIOKafkaClient
from aiokafka.conn import AIOKafkaConnection, ScramAuthenticator
from aiokafka.errors import KafkaConnectionError
from aiokafka.producer.message_accumulator import MessageAccumulator
from aiokafka.producer.sender import Sender, SendProduceReqHandler

from kit.client import quiet_process
from swagent_transports._aiokafka import Producer

SERVERS = ["127.0.0.1:1"]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
async def test_names() -> None:
    producer: Any = Producer({"request_timeout_ms": 100}, {}, SERVERS)
    inner = producer._producer
    assert inner._closed is True
    assert inner._message_accumulator._batch_ttl == -1.0
    assert inner._sender.sender_task is None
    assert (inner.client._sync_task, inner.client._md_update_fut, inner.client._conns) == (None, None, {})
    assert (inner._sender._in_flight, inner._sender._muted_partitions) == (set(), set())
    accumulator = inner._message_accumulator
    assert (accumulator._closed, dict(accumulator._batches), accumulator._pending_batches) == (False, {}, set())
    assert not producer.is_broken
    producer.abandon()
    await producer.wait_gone(1.0)
    assert producer.is_broken


def test_signatures() -> None:
    assert list(inspect.signature(Sender._send_produce_req).parameters) == ["self", "node_id", "batches"]
    assert inspect.iscoroutinefunction(AIOKafkaClient._md_synchronizer)
    assert "_writer" in inspect.getsource(AIOKafkaConnection.close)
    # what `_kafka_connection` puts in the place of the client's own
    assert "self._read_task = self._create_reader_task()" in inspect.getsource(AIOKafkaConnection.connect)
    assert "reader = self._reader" in inspect.getsource(AIOKafkaConnection._read)
    assert inspect.getsource(AIOKafkaConnection._read).count("reader.readexactly(") == 2
    for way in ("plain", "scram"):
        assert f"self.authenticator_{way}()" in inspect.getsource(AIOKafkaConnection._do_sasl_handshake)
    assert "self.create_salted_password(salt, iterations)" in inspect.getsource(ScramAuthenticator)
    assert "bootstrap_id in self._conns" in inspect.getsource(AIOKafkaClient._metadata_update)


def test_each_batch_has_one_attempt() -> None:
    for place in (SendProduceReqHandler.do, SendProduceReqHandler.handle_response):
        assert "self._can_retry(" in inspect.getsource(place)
    assert "batch.expired()" not in inspect.getsource(SendProduceReqHandler.do)
    assert "self._batch_ttl" in inspect.getsource(MessageAccumulator._append_batch)


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
