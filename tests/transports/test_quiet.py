"""An application that logs everything hears nothing of the libraries that carry our traffic, and pays for nothing.

What it does itself with the same libraries, at the same time, stays logged.
"""

from __future__ import annotations

import io
import logging
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anyio
import httpx
import loguru
import pytest
import structlog
from hpack import Decoder, Encoder

from kit import answers, http_answers
from kit.client import grpc_client
from kit.h2_peer import H2Peer
from kit.http_client import http_client
from kit.http_peer import HttpPeer
from kit.kafka_client import kafka_client
from kit.kafka_peer import PRODUCE, KafkaPeer
from kit.loop_thread import LoopThread
from kit.servers import dead_address
from swagent_proto import wire
from swagent_transports._http_pool import HUSH
from swagent_transports._quiet import Hush, own_traffic

pytestmark = pytest.mark.anyio

LIBRARIES = ("hpack", "h2", "hyperframe", "grpclib", "httpcore", "httpx", "h11", "aiokafka")
RECORD = wire.segment_object("trace", "segment", [], "shop", "shop@host", False)


class InterceptHandler(logging.Handler):
    """As loguru's documentation has it."""

    def emit(self, record: logging.LogRecord) -> None:
        loguru.logger.opt(depth=6, exception=record.exc_info).log(
            record.levelname, f"{record.name} {record.getMessage()}"
        )


def to_stream(stream: io.StringIO) -> logging.Handler:
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(name)s %(message)s"))
    return handler


def to_loguru(stream: io.StringIO) -> logging.Handler:
    loguru.logger.remove()
    loguru.logger.add(stream, level=0)
    return InterceptHandler()


def to_structlog(stream: io.StringIO) -> logging.Handler:
    handler = logging.StreamHandler(stream)
    pre: list[Any] = [structlog.stdlib.add_logger_name, structlog.stdlib.add_log_level]
    renderer = structlog.dev.ConsoleRenderer(colors=False)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(processor=renderer, foreign_pre_chain=pre))
    return handler


HANDLERS = {"logging": to_stream, "loguru": to_loguru, "structlog": to_structlog}


class Ear:
    """The output of the application's handler, and the records that are made at all, but for those of a test's peer."""

    def __init__(self) -> None:
        self.stream = io.StringIO()
        self.made: list[str] = []

    def heard(self) -> list[str]:
        """Lines that name a library."""
        return [line for line in self.stream.getvalue().splitlines() if any(name in line for name in LIBRARIES)]


@contextmanager
def listening(kind: str) -> Iterator[Ear]:
    """The application logs everything."""
    ear = Ear()
    handler = HANDLERS[kind](ear.stream)
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
        loguru.logger.remove()


async def break_off(call: Any) -> None:
    call.link.writer.close()


def doomed_grpc(peer: H2Peer) -> None:
    peer.behave = answers.abort


def doomed_http(peer: HttpPeer) -> None:
    peer.behave = break_off


def doomed_kafka(peer: KafkaPeer) -> None:
    peer.codes[PRODUCE] = 7


# a peer, a client, and how the peer is made to fail
CLIENTS: dict[str, Any] = {
    "grpc": (lambda: H2Peer(answers.confirm), grpc_client, doomed_grpc),
    "http": (lambda: HttpPeer(http_answers.confirm), http_client, doomed_http),
    "kafka": (KafkaPeer, kafka_client, doomed_kafka),
}


@pytest.mark.parametrize("kind", HANDLERS)
@pytest.mark.parametrize("protocol", CLIENTS)
async def test_nothing_of_our_traffic_is_logged(protocol: str, kind: str) -> None:
    make_peer, client_of, fail = CLIENTS[protocol]
    with make_peer() as peer, listening(kind) as ear:
        async with client_of(peer.address) as client:
            for _ in range(3):
                assert await client.verdict(RECORD) is None
            fail(peer)
            assert await client.verdict(RECORD) is not None
        with dead_address() as address:
            async with client_of(address) as client:
                assert await client.verdict(RECORD) is not None
        logging.getLogger("shop").debug("an httpx of the application's own")
        assert len(ear.heard()) == 1, ear.heard()
        assert not ear.made, "a record that nobody hears costs as much as one that is heard"


@asynccontextmanager
async def calling_httpx(thread: LoopThread, address: str) -> AsyncGenerator[None]:
    """The application calls, over and over."""

    async def call() -> None:
        async with httpx.AsyncClient(trust_env=False) as client:
            while True:
                await client.get(f"http://{address}/")

    async with anyio.create_task_group() as group:
        group.start_soon(call)
        yield
        group.cancel_scope.cancel()


async def test_the_applications_own_calls_stay_logged() -> None:
    with HttpPeer(http_answers.confirm) as peer, listening("logging") as ear:
        async with http_client(peer.address) as client, calling_httpx(peer.thread, peer.address):
            while "httpcore.http11" not in ear.made:
                await client.send()
            await client.send()
        assert {"httpcore.connection", "httpcore.http11", "httpx"} <= set(ear.made)
        assert not any(peer.address in line and "POST" in line for line in ear.heard()), "ours are POSTs"


async def test_the_applications_own_headers_stay_logged() -> None:
    with H2Peer(answers.confirm) as peer, listening("logging") as ear:
        async with grpc_client(peer.address) as client:
            await client.send()
            assert not ear.made
            Decoder().decode(Encoder().encode([("x", "y")]))
            assert set(ear.made) == {"hpack.hpack"}


async def test_the_loggers_are_as_they_were_when_the_last_client_is_gone() -> None:
    before = [set(vars(logging.getLogger(name))) for name in HUSH.names]
    with HttpPeer(http_answers.confirm) as peer:
        async with http_client(peer.address) as client:
            await client.send()
            assert "isEnabledFor" in vars(logging.getLogger("httpcore.http11"))
    assert [set(vars(logging.getLogger(name))) for name in HUSH.names] == before


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
