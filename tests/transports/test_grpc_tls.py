"""TLS: servers that are trusted, those that are not, and that no other gets the token."""

from __future__ import annotations

import ssl
from pathlib import Path

import anyio
import pytest
from hyperframe.frame import PingFrame

from faults.covering import covers
from kit import answers
from kit.answers import confirm, first
from kit.certificates import Certificates
from kit.client import AT_ONCE, grpc_client, until
from kit.h2_peer import H2Peer
from kit.old_tls import REFUSED, OldTls, reason_of
from kit.servers import Parrot
from kit.stopwatch import Stopwatch
from swagent.config import Config
from swagent.errors import ConfigError, DeliveryError, RetryableError
from swagent_transports._tls import client_context

pytestmark = pytest.mark.anyio

TOKEN = "sesame-7f3a"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("trusted"))


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """An authority that is not trusted here."""
    return Certificates(tmp_path_factory.mktemp("stranger"))


@covers("F17", "grpc")
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
async def test_trusted_collector(certificates: Certificates, host: str) -> None:
    context = certificates.server("127.0.0.1", "localhost", "::1")
    with H2Peer(confirm, host="::1" if host == "[::1]" else "127.0.0.1", context=context) as peer:
        address = f"grpcs://{host}:{peer.port}"
        async with grpc_client(address, tls_ca=certificates.ca, authentication=TOKEN) as client:
            await client.send(b"secret")
            assert await client.verdicts(20) == [None] * 20
    assert len(peer.links) == 1
    assert peer.records[0] == b"secret"
    headers = peer.calls[0].headers
    assert (headers[b":scheme"], headers[b"authentication"]) == (b"https", TOKEN.encode())


async def test_answer_behind_more_frames_than_a_slice_has(certificates: Certificates) -> None:
    """Reading rests in between, which TLS does in its own way."""
    pings = answers.raw(PingFrame(0, opaque_data=b"12345678").serialize() * 900)
    with H2Peer(answers.at_once(pings, confirm), context=certificates.server("127.0.0.1")) as peer:
        async with grpc_client(peer.address, tls_ca=certificates.ca, force_tls=True) as client:
            for _ in range(3):
                assert await client.verdict() is None
            peer.behave = first(answers.at_once(pings, confirm), answers.hang_up)
            assert await client.verdict() is None, "what the peer said before it left is heard"
        assert len(peer.links) == 1


async def test_tls_may_be_asked_for_by_a_switch(certificates: Certificates) -> None:
    with H2Peer(confirm, context=certificates.server("127.0.0.1")) as peer:
        async with grpc_client(peer.address, force_tls=True, tls_ca=certificates.ca) as client:
            await client.send()


async def test_large_batch_over_tls(certificates: Certificates) -> None:
    records = [bytes([number]) * 200_000 for number in range(15)]
    with H2Peer(confirm, context=certificates.server("127.0.0.1")) as peer:
        async with grpc_client(f"grpcs://{peer.address}", tls_ca=certificates.ca, request_timeout=10) as client:
            await client.send(*records)
        assert peer.records == records


@covers("F17", "grpc")
@pytest.mark.parametrize("flaw", ["unknown authority", "another host's", "expired"])
async def test_untrusted_collector_gets_nothing(certificates: Certificates, stranger: Certificates, flaw: str) -> None:
    context = {
        "unknown authority": lambda: stranger.server("127.0.0.1"),
        "another host's": lambda: certificates.server("collector.example.org"),
        "expired": lambda: certificates.server("127.0.0.1", expired=True),
    }[flaw]()
    with Parrot(context=context) as peer:
        async with grpc_client(f"grpcs://{peer.address}", tls_ca=certificates.ca, authentication=TOKEN) as client:
            error = await client.verdict(b"secret")
            assert isinstance(error, RetryableError)
            assert "certificate verify failed" in str(error)
        assert not peer.heard


@covers("F17", "grpc")
async def test_system_authorities_do_not_vouch_for_a_stranger(stranger: Certificates) -> None:
    with Parrot(context=stranger.server("127.0.0.1")) as peer:
        async with grpc_client(f"grpcs://{peer.address}", authentication=TOKEN) as client:
            assert isinstance(await client.verdict(b"secret"), RetryableError)
        assert not peer.heard


@pytest.mark.one_loop
@covers("F17", "grpc")
@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x00\x00\x00\x04\x00\x00\x00\x00\x00", b"??"]
)
async def test_tls_to_a_port_without(answer: bytes) -> None:
    with Parrot(answer) as peer:
        async with grpc_client(f"grpcs://{peer.address}", request_timeout=0.4, authentication=TOKEN) as client:
            assert isinstance(await client.verdict(b"secret"), RetryableError)
    assert TOKEN.encode() not in peer.heard
    assert b"secret" not in peer.heard


@covers("F17", "grpc")
async def test_plaintext_to_a_tls_port(certificates: Certificates) -> None:
    with Parrot(context=certificates.server("127.0.0.1")) as peer:
        async with grpc_client(peer.address) as client:
            with anyio.fail_after(AT_ONCE):
                assert isinstance(await client.verdict(), RetryableError)
            assert isinstance(await client.verdict(), RetryableError)
        assert not peer.heard


def without_alpn(certificates: Certificates) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificates.authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


@covers("F17", "grpc")
async def test_collector_without_alpn_is_known_by_its_greeting(certificates: Certificates) -> None:
    with H2Peer(confirm, context=without_alpn(certificates)) as peer:
        async with grpc_client(f"grpcs://{peer.address}", tls_ca=certificates.ca, authentication=TOKEN) as client:
            await client.send()


@covers("F17", "grpc")
@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
async def test_verified_server_without_http2_hears_no_token(certificates: Certificates, answer: bytes) -> None:
    for context in (without_alpn(certificates), http1(certificates)):
        with Parrot(answer, context=context) as peer:
            address = f"grpcs://{peer.address}"
            async with grpc_client(
                address, tls_ca=certificates.ca, authentication=TOKEN, request_timeout=0.3
            ) as client:
                assert isinstance(await client.verdict(b"secret"), RetryableError)
            assert TOKEN.encode() not in peer.heard
            assert b"secret" not in peer.heard


def http1(certificates: Certificates) -> ssl.SSLContext:
    context = certificates.server("127.0.0.1")
    context.set_alpn_protocols(["http/1.1"])
    return context


@covers("F17", "grpc")
async def test_authority_that_is_renewed_while_the_agent_runs(
    certificates: Certificates, stranger: Certificates
) -> None:
    context = certificates.server("127.0.0.1")
    with H2Peer(first(confirm, answers.hang_up), context=context) as peer:
        async with grpc_client(f"grpcs://{peer.address}", tls_ca=certificates.ca, authentication=TOKEN) as client:
            assert await client.verdict() is None
            stranger.authority.issue_cert("127.0.0.1").configure_cert(context)
            await until(lambda: client.transport._channel and not client.transport._channel._connected)
            assert isinstance(await client.verdict(), RetryableError)
            certificates.authority.issue_cert("127.0.0.1").configure_cert(context)
            assert await client.verdict() is None
        assert len(peer.calls) == 2


@covers("F17", "grpc")
async def test_handshake_that_stalls_ends_in_time() -> None:
    with Parrot() as peer:
        async with grpc_client(f"grpcs://{peer.address}", request_timeout=0.2, authentication=TOKEN) as client:
            watch = Stopwatch()
            with anyio.fail_after(5):
                error = await client.verdict(b"secret")
            assert watch.own_seconds < 1
            assert isinstance(error, RetryableError)
            assert "0.2 s" in str(error)
    assert TOKEN.encode() not in peer.heard


@covers("F17", "grpc")
async def test_old_tls_is_not_spoken(certificates: Certificates) -> None:
    with OldTls() as peer:
        async with grpc_client(f"grpcs://{peer.address}", tls_ca=certificates.ca, authentication=TOKEN) as client:
            error = await client.verdict(b"secret")
            assert isinstance(error, RetryableError)
            assert reason_of(error) == REFUSED
        assert peer.heard_only_hellos


async def test_collector_that_asks_for_our_certificate(certificates: Certificates) -> None:
    chain, key = certificates.client()
    with H2Peer(confirm, context=certificates.server("127.0.0.1", asks_client=True)) as peer:
        address = f"grpcs://{peer.address}"
        async with grpc_client(address, tls_ca=certificates.ca, tls_cert=chain, tls_key=key) as client:
            await client.send()
        async with grpc_client(address, tls_ca=certificates.ca) as client:
            with anyio.fail_after(AT_ONCE):
                assert isinstance(await client.verdict(), DeliveryError)
        assert len(peer.calls) == 1


@covers("F17", "grpc")
async def test_authority_that_is_renewed_is_trusted_by_the_next_transport(
    certificates: Certificates, stranger: Certificates
) -> None:
    with H2Peer(confirm, context=stranger.server("127.0.0.1")) as peer:
        async with grpc_client(f"grpcs://{peer.address}", tls_ca=certificates.ca) as client:
            assert isinstance(await client.verdict(), RetryableError)
        async with grpc_client(f"grpcs://{peer.address}", tls_ca=stranger.ca) as client:
            await client.send()


def test_no_key_is_logged_for_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Which `ssl.create_default_context()` would do."""
    monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / "keys"))
    assert ssl.create_default_context().keylog_filename == str(tmp_path / "keys")
    context = client_context(Config(service="checked"))
    assert context.keylog_filename is None
    assert context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2


@covers("F17", "grpc")
async def test_authorities_of_the_environment_replace_the_systems(
    certificates: Certificates, stranger: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SSL_CERT_FILE is OpenSSL's own name for where a system keeps its authorities: container images rely on it, and
    who can set it can set `tls_ca`, too. It says whom to trust, never not to verify; and `tls_ca` outweighs it."""
    monkeypatch.setenv("SSL_CERT_FILE", stranger.ca)
    with H2Peer(confirm, context=stranger.server("127.0.0.1")) as peer:
        async with grpc_client(f"grpcs://{peer.address}", authentication=TOKEN) as client:
            assert await client.verdict() is None
        async with grpc_client(f"grpcs://{peer.address}", tls_ca=certificates.ca, authentication=TOKEN) as client:
            assert isinstance(await client.verdict(), RetryableError)
        assert len(peer.calls) == 1


@pytest.mark.parametrize(
    "content", [None, "", "no PEM", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"]
)
def test_unusable_authority_file_is_said_at_start(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ConfigError) as caught:
        client_context(Config(service="checked", tls_ca=str(path)))
    assert caught.value.name == "tls_ca"


def test_unusable_client_key_is_said_at_start(certificates: Certificates, tmp_path: Path) -> None:
    chain, key = certificates.client()
    for other in (str(tmp_path / "missing"), chain, certificates.ca):
        with pytest.raises(ConfigError) as caught:
            client_context(Config(service="checked", tls_cert=chain, tls_key=other))
        assert caught.value.name == "tls_cert"
    client_context(Config(service="checked", tls_cert=chain, tls_key=key))
