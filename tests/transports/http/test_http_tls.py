"""TLS: a server with a wrong identity hears nothing, least of all the token."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import anyio
import pytest

from faults.covering import covers
from kit import http_answers as answers
from kit.certificates import Certificates
from kit.http_answers import confirm
from kit.http_client import http_client
from kit.http_peer import Behaviour, HttpPeer
from kit.old_tls import REFUSED, OldTls, reason_of
from kit.servers import Parrot
from kit.stopwatch import Stopwatch
from swagent.config import Config
from swagent.errors import AmbiguousError, ConfigError, RetryableError
from swagent_transports.http import HttpTransport

pytestmark = pytest.mark.anyio

TOKEN = "s3cret"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


def http_server(context: ssl.SSLContext) -> ssl.SSLContext:
    context.set_alpn_protocols(["http/1.1"])
    return context


@covers("F17", "http")
@pytest.mark.parametrize(("host", "name"), [("127.0.0.1", "127.0.0.1"), ("127.0.0.1", "localhost"), ("::1", "[::1]")])
async def test_verified_server_gets_the_batch(certificates: Certificates, host: str, name: str) -> None:
    context = http_server(certificates.server("localhost", "127.0.0.1", "::1"))
    with HttpPeer(confirm, context=context, host=host) as peer:
        collector = f"https://{name}:{peer.port}"
        async with http_client(collector, tls_ca=certificates.ca, authentication=TOKEN) as client:
            for _ in range(3):
                await client.send()
            assert await client.verdict(bytes(2**20)) is None
            assert str(client.transport) == collector
        assert len(peer.links) == 1
        assert peer.calls[0].headers["authentication"] == TOKEN


async def test_force_tls(certificates: Certificates) -> None:
    with HttpPeer(confirm, context=http_server(certificates.server("127.0.0.1"))) as peer:
        async with http_client(peer.address, tls_ca=certificates.ca, force_tls=True) as client:
            assert await client.verdict() is None


@covers("F17", "http")
async def test_unverified_server_hears_nothing(certificates: Certificates, tmp_path: Path) -> None:
    stranger = Certificates(tmp_path)
    wrong = {
        "of a stranger": stranger.server("127.0.0.1"),
        "expired": certificates.server("127.0.0.1", expired=True),
        "of another host": certificates.server("example.org"),
    }
    for why, context in wrong.items():
        with Parrot(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", context=context) as peer:
            peer.thread.problems.clear()
            async with http_client(f"https://{peer.address}", tls_ca=certificates.ca, authentication=TOKEN) as client:
                for _ in range(2):
                    assert isinstance(await client.verdict(), RetryableError), why
            assert not peer.heard, why


@covers("F17", "http")
async def test_old_tls_is_not_spoken(certificates: Certificates) -> None:
    with OldTls() as peer:
        async with http_client(f"https://{peer.address}", tls_ca=certificates.ca, authentication=TOKEN) as client:
            error = await client.verdict()
            assert isinstance(error, RetryableError)
            assert reason_of(error) == REFUSED
        assert peer.heard_only_hellos


@covers("F17", "http")
async def test_environment_names_no_authority(
    certificates: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger = Certificates(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", stranger.ca)
    monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / "keys"))
    with HttpPeer(confirm, context=http_server(stranger.server("127.0.0.1"))) as peer:
        async with http_client(f"https://{peer.address}", tls_ca=certificates.ca) as client:
            assert isinstance(await client.verdict(), RetryableError)
        assert not peer.calls
    assert not (tmp_path / "keys").exists()


async def test_client_certificate(certificates: Certificates) -> None:
    chain, key = certificates.client()
    context = http_server(certificates.server("127.0.0.1", asks_client=True))
    with HttpPeer(confirm, context=context) as peer:
        mine = {"tls_ca": certificates.ca, "tls_cert": chain, "tls_key": key}
        async with http_client(f"https://{peer.address}", **mine) as client:
            assert await client.verdict() is None
        async with http_client(f"https://{peer.address}", tls_ca=certificates.ca) as client:
            # with TLS 1.3 the server refuses after the client believes to be connected
            assert isinstance(await client.verdict(), (RetryableError, AmbiguousError))
        assert len(peer.calls) == 1


@covers("F17", "http")
async def test_authority_replaced_while_running(certificates: Certificates, tmp_path: Path) -> None:
    """The next collector behind the address has another authority's certificate: refused, the old one still works."""
    with HttpPeer(confirm, context=http_server(certificates.server("127.0.0.1"))) as peer:
        async with http_client(f"https://{peer.address}", tls_ca=certificates.ca) as client:
            await client.send()
            await peer.thread.call(peer.stop)
            peer._context = http_server(Certificates(tmp_path).server("127.0.0.1"))
            await peer.thread.call(peer.start)
            assert isinstance(await client.verdict(), RetryableError)
            await peer.thread.call(peer.stop)
            peer._context = http_server(certificates.server("127.0.0.1"))
            await peer.thread.call(peer.start)
            assert await client.verdict() is None
            await peer.thread.call(peer.stop)


@covers("F17", "http")
async def test_server_without_alpn(certificates: Certificates) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificates.authority.issue_cert("127.0.0.1").configure_cert(context)
    with HttpPeer(confirm, context=context) as peer:
        async with http_client(f"https://{peer.address}", tls_ca=certificates.ca) as client:
            assert await client.verdict() is None


@covers("F17", "http")
async def test_plaintext_server_hears_no_token() -> None:
    with Parrot(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") as peer:
        async with http_client(f"https://{peer.address}", authentication=TOKEN) as client:
            assert isinstance(await client.verdict(), RetryableError)
        assert TOKEN.encode() not in peer.heard


@covers("F17", "http")
async def test_plaintext_to_a_tls_port_is_ambiguous(certificates: Certificates) -> None:
    with HttpPeer(confirm, context=http_server(certificates.server("127.0.0.1"))) as peer:
        async with http_client(f"http://{peer.address}") as client:
            assert isinstance(await client.verdict(), AmbiguousError)
        assert not peer.calls


@covers("F17", "http")
async def test_handshake_that_stalls_ends_unsent_at_the_deadline(certificates: Certificates) -> None:
    with Parrot(b"") as peer:
        async with http_client(f"https://{peer.address}", tls_ca=certificates.ca, request_timeout=0.3) as client:
            watch = Stopwatch()
            with anyio.fail_after(5):
                assert isinstance(await client.verdict(), RetryableError)
            assert watch.own_seconds < 1


@pytest.mark.parametrize("behave", [answers.hang_up, answers.abort], ids=["FIN", "RST"])
async def test_broken_off_amid_the_answer(certificates: Certificates, behave: Behaviour) -> None:
    half = answers.first(answers.raw(b"HTTP/1.1 20"), behave)
    with HttpPeer(half, context=http_server(certificates.server("127.0.0.1"))) as peer:
        async with http_client(f"https://{peer.address}", tls_ca=certificates.ca) as client:
            assert isinstance(await client.verdict(), AmbiguousError)
            peer.behave = confirm
            assert await client.verdict() is None


@pytest.mark.parametrize("field", ["tls_ca", "tls_cert"])
def test_unusable_file_is_said_at_start(field: str) -> None:
    missing = "/no/such/file"
    files: dict[str, Any] = {"tls_cert": {"tls_cert": missing, "tls_key": missing}, "tls_ca": {"tls_ca": missing}}
    config = Config(service="checked", collector="https://127.0.0.1:1", **files[field])
    with pytest.raises(ConfigError) as caught:
        HttpTransport(config, config.addresses[0])
    assert caught.value.name == field
