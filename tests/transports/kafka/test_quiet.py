"""aiokafka does not talk to the application about a client that is ours."""

from __future__ import annotations

import asyncio
import importlib
import logging

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaConnectionError

from kit.kafka_client import INSTANCE, kafka_client
from swagent.errors import RetryableError
from swagent_transports._aiokafka import HUSH

pytestmark = pytest.mark.anyio

NOWHERE = "127.0.0.1:1"


async def connect_in_vain() -> None:
    """A change that an application may make itself."""
    producer = AIOKafkaProducer(bootstrap_servers=NOWHERE)
    with pytest.raises(KafkaConnectionError):
        await producer.start()
    await producer.stop()


async def test_the_applications_own_clients_still_speak(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with kafka_client(NOWHERE) as client:

        async def fail_and_let_fail() -> None:
            verdict = asyncio.ensure_future(client.transport.report_properties(INSTANCE))
            await connect_in_vain()
            with pytest.raises(RetryableError):
                await verdict

        await client.run(fail_and_let_fail)
    assert {each.name for each in caplog.records} == {"aiokafka"}


def test_aiokafka_logs_where_it_is_known_to() -> None:
    names = ("client", "cluster", "conn", "helpers", "producer.producer", "producer.sender")
    modules = [importlib.import_module(f"aiokafka.{name}") for name in names]
    assert {module.log.name for module in modules} == set(HUSH.names)
