"""A real broker that asks for a login over TLS."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from e2e.fixtures import make
from faults.covering import covers
from kit.certificates import Certificates
from kit.each import kafka_client
from kit.kafka_topics import TOPICS, create_topics
from kit.loop_thread import LoopThread
from kit.proxy import Proxy
from kit.real.kafka import Kafka
from swagent.errors import RejectedError
from transports.test_tls import LOGIN, TOKEN, certificates  # noqa: TID251

pytestmark = [pytest.mark.anyio, pytest.mark.e2e, pytest.mark.timeout(600), covers("F17", "kafka")]
__all__ = ["certificates"]


def key_store(certificates: Certificates, folder: Path) -> Path:
    """The key store of a broker: its key in PKCS #8, and its chain, in one PEM file."""
    issued = certificates.authority.issue_cert("127.0.0.1")
    key = load_pem_private_key(issued.private_key_pem.bytes(), password=None)
    chain = b"".join(each.bytes() for each in issued.cert_chain_pems)
    found = folder / "broker.pem"
    found.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + chain)
    return found


@pytest.fixture(scope="module")
def broker(certificates: Certificates, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address at which a real broker asks for a login over TLS."""
    login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    entry = "listener.name.front0."
    properties = {
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,FRONT0:SASL_SSL,CONTROLLER:PLAINTEXT",
        f"{entry}ssl.keystore.type": "PEM",
        f"{entry}ssl.keystore.location": str(key_store(certificates, tmp_path_factory.mktemp("broker"))),
        f"{entry}sasl.enabled.mechanisms": "PLAIN",
        f"{entry}plain.sasl.jaas.config": f'{login} user_agent="{TOKEN}";',
    }
    with (
        Proxy(0) as proxy,
        make(lambda: Kafka(fronts=[proxy.address], properties=properties)) as kafka,
        LoopThread() as thread,
    ):
        proxy._target = kafka.entries[0]
        thread.run(create_topics, kafka.address, TOPICS)
        yield proxy.address


async def test_real_broker_lets_us_in_and_the_password_shows_in_no_log(
    certificates: Certificates, broker: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with kafka_client(broker, request_timeout=10.0, tls_ca=certificates.ca, **LOGIN) as client:
        await client.wait_confirmed(30.0)
        assert await client.verdict(b"a record") is None
    assert TOKEN not in caplog.text


async def test_real_broker_refuses_another_password(certificates: Certificates, broker: str) -> None:
    settings: dict[str, Any] = {**LOGIN, "kafka_sasl_plain_password": "another"}
    async with kafka_client(broker, request_timeout=10.0, tls_ca=certificates.ca, **settings) as client:
        error = await client.verdict(b"a record")
        assert isinstance(error, RejectedError), error
        assert error.pause == 60.0
