"""TLS of each transport: servers that are trusted, those that are not, and that no other gets token or records."""

from __future__ import annotations

import pkgutil
import ssl
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import anyio
import pytest
from hyperframe.frame import PingFrame

import swagent_transports
from faults.covering import covers
from kit import answers
from kit.answers import confirm
from kit.certificates import Certificates
from kit.client import AT_ONCE
from kit.each import CLIENTS, LOGINS, PEERS, TOKEN
from kit.h2_peer import H2Peer
from kit.kafka_broker import KafkaBroker
from kit.servers import Parrot
from kit.stopwatch import Stopwatch
from swagent.config import Config
from swagent.errors import AmbiguousError, ConfigError, DeliveryError, RetryableError
from swagent_transports._tls import client_context
from swagent_transports.http import HttpTransport

pytestmark = pytest.mark.anyio

SECRET = b"a record"
PREFIXES = {"grpc": "grpcs://", "http": "https://", "kafka": ""}
of_each = pytest.mark.parametrize("transport", CLIENTS)


def reason_of(error: BaseException | None) -> str | None:
    """OpenSSL's reason against the connection, from whichever error was made of it."""
    while error is not None and not isinstance(error, ssl.SSLError):
        error = error.__cause__ or error.__context__
    return None if error is None else error.reason


def client_of(transport: str, address: str, **settings: Any) -> Any:
    tls = {"kafka_security_protocol": "sasl_ssl"} if transport == "kafka" else {}
    return CLIENTS[transport](PREFIXES[transport] + address, **{**LOGINS[transport], **tls, **settings})


def tokens_heard(peer: Any) -> list[str]:
    if isinstance(peer, KafkaBroker):
        return [each.decode().rpartition("\0")[2] for each in peer.tokens]
    if isinstance(peer, H2Peer):
        return [call.headers[b"authentication"].decode() for call in peer.calls]
    return [call.headers["authentication"] for call in peer.calls]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("trusted"))


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """An authority that is not trusted here."""
    return Certificates(tmp_path_factory.mktemp("stranger"))


def server(certificates: Certificates, transport: str, *, alpn: bool = True) -> ssl.SSLContext:
    """The context of a server of this machine; brokers know no ALPN."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificates.authority.issue_cert("127.0.0.1", "localhost", "::1").configure_cert(context)
    if alpn and transport != "kafka":
        context.set_alpn_protocols(["h2" if transport == "grpc" else "http/1.1"])
    return context


# -- servers that are trusted -----------------------------------------------------------------------------------------


@pytest.mark.gate
@covers("F17")
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "without ALPN"])
@of_each
async def test_trusted_server_gets_token_and_batches(certificates: Certificates, transport: str, host: str) -> None:
    context = server(certificates, transport, alpn=host != "without ALPN")
    host = "127.0.0.1" if host == "without ALPN" else host
    large = [bytes(200_000)] * (15 if transport == "grpc" else 3)
    with PEERS[transport](host="::1" if host == "[::1]" else "127.0.0.1", context=context) as peer:
        async with client_of(transport, f"{host}:{peer.port}", tls_ca=certificates.ca) as client:
            for _ in range(3):
                assert await client.verdict(SECRET) is None
            assert await client.verdict(*large) is None
            if transport != "kafka":
                assert await client.verdicts(20) == [None] * 20
                assert str(client.transport) == f"{PREFIXES[transport]}{host}:{peer.port}"
    assert set(tokens_heard(peer)) == {TOKEN}
    if transport == "grpc":
        assert len(peer.links) == 1
        assert peer.calls[0].headers[b":scheme"] == b"https"
        assert peer.records[3:18] == large


@pytest.mark.parametrize("transport", ["grpc", "http"])
async def test_tls_may_be_asked_for_by_a_switch(certificates: Certificates, transport: str) -> None:
    with PEERS[transport](context=server(certificates, transport)) as peer:
        async with CLIENTS[transport](peer.address, force_tls=True, tls_ca=certificates.ca) as client:
            assert await client.verdict() is None


async def test_answer_behind_more_frames_than_a_slice_has(certificates: Certificates) -> None:
    """Reading rests in between, which TLS does in its own way."""
    pings = answers.raw(PingFrame(0, opaque_data=b"12345678").serialize() * 900)
    with H2Peer(answers.at_once(pings, confirm), context=certificates.server("127.0.0.1")) as peer:
        async with client_of("grpc", peer.address, tls_ca=certificates.ca) as client:
            for _ in range(3):
                assert await client.verdict() is None
            peer.behave = answers.first(peer.behave, answers.hang_up)
            assert await client.verdict() is None, "what the peer said before it left is heard"
        assert len(peer.links) == 1


@pytest.mark.parametrize("transport", ["grpc", "http"])
async def test_collector_that_asks_for_our_certificate(certificates: Certificates, transport: str) -> None:
    context = server(certificates, transport)
    certificates.authority.configure_trust(context)
    context.verify_mode = ssl.CERT_REQUIRED
    chain, key = certificates.client()
    with PEERS[transport](context=context) as peer:
        async with client_of(transport, peer.address, tls_ca=certificates.ca, tls_cert=chain, tls_key=key) as client:
            assert await client.verdict() is None
        async with client_of(transport, peer.address, tls_ca=certificates.ca) as client:
            with anyio.fail_after(AT_ONCE):
                # with TLS 1.3 the server refuses after the client believes to be connected
                assert isinstance(await client.verdict(), DeliveryError)
        assert len(peer.calls) == 1


@covers("F17")
@of_each
async def test_authority_that_is_renewed(certificates: Certificates, stranger: Certificates, transport: str) -> None:
    """Refused while it is unknown; trusted by a transport that is given it; and by the old one when it is undone."""
    context = server(certificates, transport)

    async def restart(authority: Certificates) -> None:
        await peer.thread.call(peer.stop)
        authority.authority.issue_cert("127.0.0.1").configure_cert(context)
        await peer.thread.call(peer.start)

    with PEERS[transport](context=context) as peer:
        async with client_of(transport, peer.address, tls_ca=certificates.ca) as client:
            assert await client.verdict(SECRET) is None
            taken = tokens_heard(peer)
            await restart(stranger)
            with anyio.fail_after(AT_ONCE):
                while isinstance(error := await client.verdict(SECRET), AmbiguousError):
                    """Over the connection that is gone."""
            assert isinstance(error, RetryableError)
            assert tokens_heard(peer) == taken
            async with client_of(transport, peer.address, tls_ca=stranger.ca) as renewed:
                assert await renewed.verdict(SECRET) is None
            await restart(certificates)
            assert await client.verdict(SECRET) is None
            await peer.thread.call(peer.stop)  # its port is not the client's to close


@covers("F17")
@of_each
async def test_authorities_of_the_environment_replace_the_systems(
    certificates: Certificates, stranger: Certificates, transport: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SSL_CERT_FILE is OpenSSL's own name for where a system keeps its authorities: container images rely on it, and
    who can set it can set `tls_ca`, too. It says whom to trust, never not to verify; and `tls_ca` outweighs it."""
    monkeypatch.setenv("SSL_CERT_FILE", stranger.ca)
    with PEERS[transport](context=server(stranger, transport)) as peer:
        async with client_of(transport, peer.address) as client:
            assert await client.verdict(SECRET) is None
        before = tokens_heard(peer)
        async with client_of(transport, peer.address, tls_ca=certificates.ca) as client:
            assert isinstance(await client.verdict(SECRET), RetryableError)
        assert tokens_heard(peer) == before != []


# -- those that are not -----------------------------------------------------------------------------------------------

FLAWS: dict[str, Callable[[Certificates, Certificates], ssl.SSLContext]] = {
    "unknown authority": lambda ours, theirs: theirs.server("127.0.0.1"),
    "unknown to the system": lambda ours, theirs: theirs.server("127.0.0.1"),
    "another host's": lambda ours, theirs: ours.server("collector.example.org"),
    "expired": lambda ours, theirs: ours.server("127.0.0.1", expired=True),
}


@covers("F17")
@pytest.mark.parametrize("flaw", FLAWS)
@of_each
async def test_untrusted_server_hears_nothing(
    certificates: Certificates, stranger: Certificates, transport: str, flaw: str
) -> None:
    authority = {} if flaw == "unknown to the system" else {"tls_ca": certificates.ca}
    with Parrot(context=FLAWS[flaw](certificates, stranger)) as peer:
        async with client_of(transport, peer.address, **authority) as client:
            for _ in range(2):
                error = await client.verdict(SECRET)
                assert isinstance(error, RetryableError)
                assert reason_of(error) == "CERTIFICATE_VERIFY_FAILED"
        assert not peer.heard


@pytest.mark.one_loop
@covers("F17")
@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x00\x00\x00\x04\x00\x00\x00\x00\x00", b"??"]
)
@of_each
async def test_tls_to_a_port_without(transport: str, answer: bytes) -> None:
    """And a handshake that stalls: it ends in time."""
    with Parrot(answer) as peer:
        async with client_of(transport, peer.address, request_timeout=0.3) as client:
            watch = Stopwatch()
            with anyio.fail_after(5):
                assert isinstance(await client.verdict(SECRET), RetryableError)
            assert watch.own_seconds < 1
    assert TOKEN.encode() not in peer.heard
    assert SECRET not in peer.heard


@covers("F17")
@pytest.mark.parametrize(
    ("transport", "settings", "verdict"),
    [
        ("grpc", {}, RetryableError),
        ("http", {}, AmbiguousError),
        ("kafka", {**LOGINS["kafka"], "request_timeout": 0.4}, RetryableError),
    ],
)
async def test_plaintext_to_a_tls_port(
    certificates: Certificates, transport: str, settings: dict[str, Any], verdict: type
) -> None:
    with Parrot(context=server(certificates, transport)) as peer:
        async with CLIENTS[transport](peer.address, **settings) as client:
            for _ in range(2):
                with anyio.fail_after(AT_ONCE):
                    assert isinstance(await client.verdict(SECRET), verdict)
        assert not peer.heard


@covers("F17", "grpc")
@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
async def test_verified_server_without_http2_hears_no_token(certificates: Certificates, answer: bytes) -> None:
    for context in (server(certificates, "http"), server(certificates, "http", alpn=False)):
        with Parrot(answer, context=context) as peer:
            async with client_of("grpc", peer.address, tls_ca=certificates.ca, request_timeout=0.3) as client:
                assert isinstance(await client.verdict(SECRET), RetryableError)
            assert TOKEN.encode() not in peer.heard
            assert SECRET not in peer.heard


# -- settings ---------------------------------------------------------------------------------------------------------


def test_no_key_is_logged_for_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Which `ssl.create_default_context()` would do."""
    monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / "keys"))
    assert ssl.create_default_context().keylog_filename == str(tmp_path / "keys")
    context = client_context(Config(service="checked"))
    assert context.keylog_filename is None
    assert context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2


@pytest.mark.parametrize(
    "content", [None, "", "no PEM", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"]
)
def test_unusable_authority_file_is_said_at_start(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    config = Config(service="checked", collector="https://127.0.0.1:1", tls_ca=str(path))
    for use in (client_context, lambda config: HttpTransport(config, config.addresses[0])):
        with pytest.raises(ConfigError) as caught:
            use(config)
        assert caught.value.name == "tls_ca"


def test_unusable_client_key_is_said_at_start(certificates: Certificates, tmp_path: Path) -> None:
    chain, key = certificates.client()
    for other in (str(tmp_path / "missing"), chain, certificates.ca):
        with pytest.raises(ConfigError) as caught:
            client_context(Config(service="checked", tls_cert=chain, tls_key=other))
        assert caught.value.name == "tls_cert"
    client_context(Config(service="checked", tls_cert=chain, tls_key=key))


def test_no_module_holds_a_context_class_of_its_own() -> None:
    names = [each.name for each in pkgutil.iter_modules(swagent_transports.__path__)]
    assert "_grpclib" in names
    modules = [import_module(f"swagent_transports.{name}") for name in names]
    assert [module.__name__ for module in modules if ssl.SSLContext in vars(module).values()] == []
