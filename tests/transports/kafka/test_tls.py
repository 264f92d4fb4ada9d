"""TLS to brokers: a broker with a wrong identity hears nothing, least of all the password."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from e2e.fixtures import make
from faults.covering import covers
from kit.certificates import Certificates
from kit.client import AT_ONCE
from kit.kafka_client import kafka_client
from kit.kafka_peer import PRODUCE, KafkaPeer
from kit.kafka_topics import TOPICS
from kit.loop_thread import LoopThread
from kit.old_tls import REFUSED, OldTls, reason_of
from kit.proxy import Proxy
from kit.real.kafka import Kafka
from kit.servers import Parrot
from swagent.errors import AmbiguousError, RejectedError, RetryableError

pytestmark = [pytest.mark.anyio, covers("F17", "kafka")]

PASSWORD = "sesame-7f3a"
PLAIN = {
    "kafka_security_protocol": "sasl_ssl",
    "kafka_sasl_mechanism": "plain",
    "kafka_sasl_plain_username": "agent",
    "kafka_sasl_plain_password": PASSWORD,
}


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("trusted"))


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """An authority that is not trusted here."""
    return Certificates(tmp_path_factory.mktemp("stranger"))


def without_alpn(certificates: Certificates) -> ssl.SSLContext:
    """As brokers are: they know no ALPN."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificates.authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


async def test_verified_broker_gets_login_and_records(certificates: Certificates) -> None:
    with KafkaPeer(context=without_alpn(certificates)) as peer:
        async with kafka_client(peer.address, tls_ca=certificates.ca, **PLAIN) as client:
            assert await client.verdict(b"a record") is None
        assert set(peer.tokens) == {b"agent\0agent\0" + PASSWORD.encode()}
        assert len(peer.batches) == 1


FLAWS: dict[str, Callable[[Certificates, Certificates], ssl.SSLContext]] = {
    "an authority that is not trusted": lambda ours, theirs: theirs.server("127.0.0.1"),
    "expired": lambda ours, theirs: ours.server("127.0.0.1", expired=True),
    "another host's": lambda ours, theirs: ours.server("broker.example.org"),
}


@pytest.mark.parametrize("flaw", FLAWS)
async def test_unverified_broker_hears_nothing(certificates: Certificates, stranger: Certificates, flaw: str) -> None:
    with Parrot(context=FLAWS[flaw](certificates, stranger)) as peer:
        peer.thread.problems.clear()
        async with kafka_client(peer.address, tls_ca=certificates.ca, **PLAIN) as client:
            for _ in range(2):
                assert isinstance(await client.verdict(b"a record"), RetryableError)
        assert not peer.heard


async def test_old_tls_is_not_spoken(certificates: Certificates) -> None:
    with OldTls() as peer:
        async with kafka_client(peer.address, tls_ca=certificates.ca, **PLAIN) as client:
            error = await client.verdict(b"a record")
            assert isinstance(error, RetryableError)
            assert reason_of(error) == REFUSED
        assert peer.heard_only_hellos


async def test_system_authorities_do_not_vouch_for_a_stranger(stranger: Certificates) -> None:
    with Parrot(context=stranger.server("127.0.0.1")) as peer:
        async with kafka_client(peer.address, **PLAIN) as client:
            assert isinstance(await client.verdict(b"a record"), RetryableError)
        assert not peer.heard


@pytest.mark.one_loop
@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x00\x00\x00\x04\x00\x00\x00\x01"])
async def test_tls_to_a_port_without(answer: bytes) -> None:
    """And a handshake that stalls."""
    with Parrot(answer) as peer:
        async with kafka_client(peer.address, request_timeout=0.4, **PLAIN) as client:
            with anyio.fail_after(AT_ONCE):
                assert isinstance(await client.verdict(b"a record"), RetryableError)
        assert PASSWORD.encode() not in peer.heard
        assert b"a record" not in peer.heard


async def test_plaintext_to_a_tls_port(certificates: Certificates) -> None:
    settings = {**PLAIN, "kafka_security_protocol": "sasl_plaintext"}
    with KafkaPeer(context=certificates.server("127.0.0.1")) as peer:
        async with kafka_client(peer.address, request_timeout=0.4, **settings) as client:
            assert isinstance(await client.verdict(b"a record"), RetryableError)
        assert not peer.tokens
        assert not peer.heard


@pytest.mark.gate
async def test_authority_that_is_renewed(certificates: Certificates, stranger: Certificates) -> None:
    """Refused while it is unknown; trusted by a transport that is given it; and by the old one when it is undone."""
    context = certificates.server("127.0.0.1")
    with KafkaPeer(context=context) as peer:
        async with kafka_client(peer.address, tls_ca=certificates.ca, **PLAIN) as client:
            assert await client.verdict(b"a record") is None
            peer.codes[PRODUCE] = 7  # after which the next call connects anew
            assert isinstance(await client.verdict(b"a record"), AmbiguousError)
            peer.codes.clear()
            stranger.authority.issue_cert("127.0.0.1").configure_cert(context)
            logins = len(peer.tokens)
            assert isinstance(await client.verdict(b"a record"), RetryableError)
            assert len(peer.tokens) == logins
            async with kafka_client(peer.address, tls_ca=stranger.ca, **PLAIN) as renewed:
                assert await renewed.verdict(b"a record") is None
            certificates.authority.issue_cert("127.0.0.1").configure_cert(context)
            assert await client.verdict(b"a record") is None


# -- a real broker ----------------------------------------------------------------------------------------------------


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
        f"{entry}plain.sasl.jaas.config": f'{login} user_agent="{PASSWORD}";',
    }
    with (
        Proxy(0) as proxy,
        make(lambda: Kafka(fronts=[proxy.address], properties=properties)) as kafka,
        LoopThread() as thread,
    ):
        proxy._target = kafka.entries[0]
        thread.run(create_topics, kafka.address)
        yield proxy.address


async def create_topics(address: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=address)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(name, num_partitions=1, replication_factor=1) for name in TOPICS])
    finally:
        await admin.close()


@pytest.mark.e2e
@pytest.mark.timeout(600)
async def test_real_broker_lets_us_in_and_the_password_shows_in_no_log(
    certificates: Certificates, broker: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with kafka_client(broker, request_timeout=10.0, tls_ca=certificates.ca, **PLAIN) as client:
        await client.wait_confirmed(30.0)
        assert await client.verdict(b"a record") is None
    assert PASSWORD not in caplog.text


@pytest.mark.e2e
@pytest.mark.timeout(600)
async def test_real_broker_refuses_another_password(certificates: Certificates, broker: str) -> None:
    settings: dict[str, Any] = {**PLAIN, "kafka_sasl_plain_password": "another"}
    async with kafka_client(broker, request_timeout=10.0, tls_ca=certificates.ca, **settings) as client:
        error = await client.verdict(b"a record")
        assert isinstance(error, RejectedError), error
        assert error.pause == 60.0
