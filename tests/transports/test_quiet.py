"""An application that logs everything hears nothing of the libraries that carry our traffic, and pays for nothing.

What it does itself with the same libraries, at the same time, stays logged.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from h2.settings import SettingCodes
from hpack import Decoder, Encoder
from hyperframe.frame import SettingsFrame

from kit import answers
from kit.each import CLIENTS, LOGINS, PEERS, TOKEN, grpc_client
from kit.h2_peer import H2Peer
from kit.kafka_broker import PRODUCE, KafkaBroker
from kit.servers import dead_address
from swagent_proto import wire
from swagent_transports import _aiokafka, _http_pool
from swagent_transports._quiet import Hush, own_traffic

pytestmark = pytest.mark.anyio

LIBRARIES = ("hpack", "h2", "hyperframe", "grpclib", "httpcore", "httpx", "h11", "aiokafka")
RECORD = wire.segment_object("trace", "segment", [], "shop", "shop@host", False)


class Ear:
    """The output of the application's handler, and the records that are made at all, but for those of a test's peer."""

    def __init__(self) -> None:
        self.stream = io.StringIO()
        self.made: list[str] = []

    def heard(self) -> list[str]:
        """Lines that name a library."""
        return [line for line in self.stream.getvalue().splitlines() if any(name in line for name in LIBRARIES)]


@contextmanager
def listening() -> Iterator[Ear]:
    """The application logs everything."""
    ear = Ear()
    handler = logging.StreamHandler(ear.stream)
    handler.setFormatter(logging.Formatter("%(name)s %(message)s"))
    # asyncio's debug mode says what each connection is
    handler.addFilter(lambda record: record.threadName != "loop-thread" and record.name != "asyncio")
    root, factory = logging.getLogger(), logging.getLogRecordFactory()

    def make(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record: logging.LogRecord = factory(*args, **kwargs)
        if record.threadName != "loop-thread" and str(record.name).partition(".")[0] in LIBRARIES:
            ear.made.append(record.name)
        return record

    level = root.level
    root.setLevel(logging.DEBUG)
    root.addHandler(handler)
    logging.setLogRecordFactory(make)
    try:
        yield ear
    finally:
        logging.setLogRecordFactory(factory)
        root.removeHandler(handler)
        root.setLevel(level)


def fail(peer: Any) -> None:
    """Let it fail from now on."""
    if isinstance(peer, KafkaBroker):
        peer.codes[PRODUCE] = 7
    else:
        peer.behave = answers.abort


# a header table that shrinks gives up what it holds, one by one, and hpack says so
TABLE = [SettingsFrame(0, settings={SettingCodes.HEADER_TABLE_SIZE: size}) for size in (40, 4096)]


@pytest.mark.parametrize("transport", CLIENTS)
async def test_nothing_of_our_traffic_is_logged(transport: str) -> None:
    """Whatever handlers there are: no record is made."""
    with PEERS[transport]() as peer, listening() as ear:
        if transport == "grpc":
            peer.behave = answers.first(answers.confirm, answers.frame(*TABLE))
        async with CLIENTS[transport](peer.address, **LOGINS[transport]) as client:
            for _ in range(3):
                assert await client.verdict(RECORD) is None
            fail(peer)
            assert await client.verdict(RECORD) is not None
        with dead_address() as address:
            async with CLIENTS[transport](address) as client:
                assert await client.verdict(RECORD) is not None
        logging.getLogger("shop").debug("an httpx of the application's own")
        assert len(ear.heard()) == 1, ear.heard()
        assert TOKEN not in ear.stream.getvalue()
        assert not ear.made, "a record that nobody hears costs as much as one that is heard"


async def test_the_applications_own_headers_stay_logged() -> None:
    with H2Peer(answers.confirm) as peer, listening() as ear:
        async with grpc_client(peer.address) as client:
            await client.send()
            assert not ear.made
            Decoder().decode(Encoder().encode([("x", "y")]))
            assert set(ear.made) == {"hpack.hpack"}


@pytest.mark.parametrize(
    ("transport", "names"), [("http", _http_pool.HUSH.names), ("kafka", _aiokafka.HUSH.names)], ids=["http", "kafka"]
)
async def test_the_loggers_are_as_they_were_when_the_last_client_is_gone(transport: str, names: Any) -> None:
    def attributes() -> list[set[str]]:
        return [set(vars(logging.getLogger(name))) for name in names]

    before = attributes()
    with PEERS[transport]() as peer:
        async with CLIENTS[transport](peer.address) as client:
            await client.verdict(RECORD)
            assert all("isEnabledFor" in each for each in attributes())
    assert attributes() == before


def test_the_first_of_two_clients_that_is_gone_leaves_it_quiet() -> None:
    logger = logging.getLogger("swagent-tests.quiet")
    logger.setLevel(logging.DEBUG)
    hush = Hush(logger.name)
    hush.begin()
    hush.begin()
    hush.end()
    assert logger.isEnabledFor(logging.DEBUG)
    with own_traffic():
        assert not logger.isEnabledFor(logging.CRITICAL)
    hush.end()
    with own_traffic():
        assert logger.isEnabledFor(logging.DEBUG)


def test_changes_of_others_to_a_logger_stay() -> None:
    logger: Any = logging.getLogger("swagent-tests.quiet")
    hush = Hush(logger.name)
    logger.isEnabledFor = lambda level: level == 7
    hush.begin()
    with own_traffic():
        assert not logger.isEnabledFor(7)
    assert logger.isEnabledFor(7)
    hush.end()
    assert logger.isEnabledFor(7)
    hush.begin()
    logger.isEnabledFor = later = lambda level: level == 8
    hush.end()
    assert logger.isEnabledFor is later
    del logger.isEnabledFor
