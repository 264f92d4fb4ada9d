"""Brokers that answer wrongly, too much, or with an error: a true verdict in time, and the next call works.

`kafka_client` fails a test when anything reaches the application's handlers, or is left.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable

import anyio
import pytest
from aiokafka import errors as kafka

from faults.covering import covers
from kit.client import AT_ONCE
from kit.each import LOGIN, TOKEN, KafkaClient, kafka_client
from kit.kafka_broker import AUTHENTICATE, HANDSHAKE, METADATA, PRODUCE, VERSIONS, KafkaBroker
from kit.memory import MIB, takes_at_most
from kit.servers import Parrot
from kit.stopwatch import Stopwatch
from swagent.errors import AmbiguousError, DeliveryError, RejectedError, RetryableError
from swagent_transports import _kafka_connection
from swagent_transports._kafka_attempt import LeaderLostError
from swagent_transports._kafka_verdicts import answered, together, unsent

pytestmark = pytest.mark.anyio

# -- another protocol on the port -----------------------------------------------------------------------------------

# -- wrong answers ----------------------------------------------------------------------------------------------------

WRONG = {
    "HTTP/1": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "garbage": b"\xff" * 100,
    "another's answer": struct.pack(">ii", 4, 12345),
    "an answer cut short": b"\x00\x00\x00\x05",
    "an answer that counts more than it has": struct.pack(">iihi", 10, 1, 0, 2**31 - 1),
    "too little": b"\x00\x00\x00\x01\x00",
}
KINDS = {"versions": VERSIONS, "metadata": METADATA, "produce": PRODUCE}


@pytest.mark.gate
@pytest.mark.one_loop
@covers("F14", "kafka")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", WRONG)
async def test_wrong_answer(name: str, kind: str) -> None:
    with KafkaBroker() as peer:
        async with kafka_client(peer.address, request_timeout=2.0) as client:
            peer.instead[KINDS[kind]] = WRONG[name]
            error = await client.verdict(b"a record")
            # once it was produced, it may be in the log
            assert type(error) is (AmbiguousError if kind == "produce" else RetryableError), error
            peer.instead.clear()
            await client.wait_confirmed()
            assert await client.verdict(b"a record") is None


@covers("F14", "kafka")
async def test_broker_without_the_versions_that_are_needed() -> None:
    with KafkaBroker() as peer:
        async with kafka_client(peer.address) as client:
            peer.codes[VERSIONS] = 35
            peer.instead[VERSIONS] = struct.pack(">iihi", 10, 1, 35, 0)
            with anyio.fail_after(AT_ONCE):
                assert isinstance(await client.verdict(b"a record"), RetryableError)
        assert PRODUCE not in peer.requests


async def test_broker_that_falls_silent_leaves_open_only_what_had_left() -> None:
    with KafkaBroker() as peer:
        async with kafka_client(peer.address, request_timeout=1.0) as client:
            await client.wait_confirmed()
            peer.instead[PRODUCE] = b""
            peer.requests.clear()
            watch = Stopwatch()
            kinds = [type(each) for each in await client.verdicts(8)]
            assert watch.own_seconds < 1.5
            assert kinds.count(AmbiguousError) == peer.requests.count(PRODUCE) > 0
            assert set(kinds) == {AmbiguousError, RetryableError}
            peer.instead.clear()
            await client.wait_confirmed()
            assert await client.verdict(b"a record") is None


# -- answers that are too much ----------------------------------------------------------------------------------------


class Gusher(Parrot):
    """Answers, and goes on."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65_536)
        writer.write(self._answer)
        while not writer.is_closing():
            writer.write(bytes(65_536))
            await writer.drain()


@pytest.mark.one_loop
@covers("F13", "kafka")
@pytest.mark.parametrize("size", [2**31 - 1, 200 * MIB, _kafka_connection.MAX_REPLY + 1, -1])
async def test_reply_that_declares_too_much_is_not_read(size: int) -> None:
    with Gusher(struct.pack(">i", size)) as peer:
        async with kafka_client(peer.address, request_timeout=2.0) as client:
            with takes_at_most(2 * MIB), anyio.fail_after(AT_ONCE):
                assert isinstance(await client.verdict(b"a record"), RetryableError)


@pytest.mark.gate
@covers("F13", "kafka")
async def test_reply_of_a_large_cluster_is_read() -> None:
    with KafkaBroker() as peer:
        async with kafka_client(peer.address, request_timeout=5.0) as client:
            partitions = b"".join(struct.pack(">hiiii", 0, number, 1, 0, 0) for number in range(20_000))
            topic = b"skywalking-segments"
            host = b"127.0.0.1"
            head = struct.pack(">i", 2)  # the second request of its connection
            brokers = struct.pack(">iih", 1, 1, len(host)) + host + struct.pack(">ih", peer.port, -1)
            found = struct.pack(">iihh", 1, 1, 0, len(topic)) + topic + b"\x00" + struct.pack(">i", 20_000) + partitions
            answer = head + brokers + found
            peer.instead[METADATA] = struct.pack(">i", len(answer)) + answer
            assert await client.verdict(b"a record") is None
        assert peer.requests.count(PRODUCE) == 1


# -- errors -----------------------------------------------------------------------------------------------------------

ERRORS: dict[int, type[kafka.BrokerResponseError]] = {
    kind.errno: kind
    for kind in vars(kafka).values()
    if isinstance(kind, type) and issubclass(kind, kafka.BrokerResponseError) and hasattr(kind, "errno")
}
# The verdict of each error code on a batch that was produced; all others leave the outcome open.
NOT_WRITTEN = {3, 5, 6, 19}
REFUSED = {
    2: 0.0,  # corrupt
    10: 0.0, 18: 0.0,  # too large
    17: 30.0,  # no topic may have that name
    29: 60.0, 31: 60.0,  # not authorized
    32: 0.0, 43: 0.0, 44: 0.0,  # a timestamp, a format, a policy
    33: 60.0, 34: 60.0, 58: 60.0,  # the login
}  # fmt: skip
OF_ONE_TOPIC = {17, 29}


@covers("F15", "kafka")
def test_error_before_the_batch_was_taken_never_leaves_the_outcome_open() -> None:
    assert len(ERRORS) >= 70
    for code, kind in ERRORS.items():
        verdict = unsent(kind())
        assert isinstance(verdict, (RetryableError, RejectedError)), (code, verdict)
        is_refusal = code in REFUSED or code == 3
        assert isinstance(verdict, RejectedError) is is_refusal, (code, verdict)


def check(error: DeliveryError | None, code: int) -> None:
    if code == 0 or code == 46:  # 46: the batch is there already
        assert error is None, (code, error)
    elif code in NOT_WRITTEN:
        assert type(error) is RetryableError, (code, error)
    elif code in REFUSED:
        assert isinstance(error, RejectedError), (code, error)
        assert (error.pause, error.only_this_signal) == (REFUSED[code], code in OF_ONE_TOPIC)
    else:
        assert type(error) is AmbiguousError, (code, error)


@pytest.mark.one_loop
@covers("F15", "kafka")
async def test_every_error_of_a_produced_batch() -> None:
    with KafkaBroker() as peer:
        async with kafka_client(peer.address) as client:
            for code in sorted([*ERRORS, 73, 87, 32_767]):
                peer.codes[PRODUCE] = code
                before = peer.requests.count(PRODUCE)
                check(await client.verdict(b"a record"), code)
                assert peer.requests.count(PRODUCE) == before + 1, "one attempt, whatever the answer"
            peer.codes.clear()
            assert await client.verdict(b"a record") is None


@pytest.mark.one_loop
@covers("F15", "kafka")
@pytest.mark.parametrize("code", [3, 29])
async def test_error_of_the_topic_stops_the_batch_before_it_leaves(code: int) -> None:
    with KafkaBroker() as peer:
        async with kafka_client(peer.address) as client:
            await client.wait_confirmed()
            peer.codes[METADATA] = code
            before = peer.requests.count(PRODUCE)
            error = await client.verdict(b"a record")
            assert isinstance(error, RejectedError), error
            assert error.only_this_signal
            assert peer.requests.count(PRODUCE) == before


LOGIN_ERRORS = {HANDSHAKE: (33, 34), AUTHENTICATE: (58, 34)}


@pytest.mark.one_loop
@covers("F15", "kafka")
@pytest.mark.parametrize(("step", "code"), [(step, code) for step, codes in LOGIN_ERRORS.items() for code in codes])
async def test_refused_login(step: int, code: int) -> None:
    with KafkaBroker() as peer:
        async with kafka_client(peer.address, **LOGIN) as client:
            peer.codes[step] = code
            error = await client.verdict(b"a record")
            assert isinstance(error, RejectedError), error
            assert (error.pause, error.only_this_signal) == (60.0, False)
            assert TOKEN not in str(error)
            peer.codes.clear()
            assert await client.verdict(b"a record") is None
        assert PRODUCE in peer.requests


async def assert_unsent(client: KafkaClient, peer: KafkaBroker) -> None:
    with anyio.fail_after(AT_ONCE):
        error = await client.verdict(b"a record")
    assert isinstance(error, RetryableError), error
    assert PRODUCE not in peer.requests


def rounds(token: bytes) -> bytes:
    """A billion of them: each costs time in a thread that nothing can end."""
    return b"r=%bmore,s=AAAA,i=1000000000" % token.split(b"r=")[1]


TURNS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "a question": ("PLAIN", lambda _: b"what?"),
    "no challenge": ("SCRAM-SHA-256", lambda _: b""),
    "a nonce of its own": ("SCRAM-SHA-256", lambda _: b"r=mine,s=AAAA,i=4096"),
    "no number of rounds": ("SCRAM-SHA-256", lambda _: b"r=mine,s=AAAA"),
    "not text": ("SCRAM-SHA-256", lambda _: b"\xff\xfe"),
    "too many rounds": ("SCRAM-SHA-512", rounds),
}


@pytest.mark.one_loop
@covers("F14", "kafka")
@pytest.mark.parametrize("name", TURNS)
async def test_login_that_takes_an_unexpected_turn(name: str) -> None:
    mechanism, challenge = TURNS[name]
    with KafkaBroker(mechanism=mechanism) as peer:
        peer.challenge = challenge
        async with kafka_client(peer.address, **{**LOGIN, "kafka_sasl_mechanism": mechanism.lower()}) as client:
            await assert_unsent(client, peer)
        assert mechanism == "PLAIN" or TOKEN.encode() not in b"".join(peer.tokens)


@covers("F14", "kafka")
async def test_login_that_takes_an_unexpected_turn_at_the_second_broker() -> None:
    """The first connection is for finding the others, which the client makes by itself, in a task of its own."""
    with KafkaBroker() as peer:
        peer.challenge = lambda _: b"" if peer.connected == 1 else b"what?"
        async with kafka_client(peer.address, **LOGIN) as client:
            await assert_unsent(client, peer)


RETRY, NO, OPEN = RetryableError("r"), RejectedError("x", pause=1.0), AmbiguousError("a")
# those that are no answers of a broker's
BEFORE = [kafka.KafkaConnectionError, kafka.KafkaTimeoutError, kafka.ProducerClosed, kafka.NodeNotReadyError, OSError]
AFTER = [kafka.KafkaConnectionError, LeaderLostError, ValueError]


def test_errors_of_the_client() -> None:
    assert {type(unsent(error())) for error in BEFORE} == {RetryableError}
    assert {type(answered(error())) for error in AFTER} == {AmbiguousError}
    assert type(answered(kafka.NodeNotReadyError())) is RetryableError, "the batch has not left"


def test_a_broker_that_refuses_everything_is_left_alone_for_a_while() -> None:
    pauses = [unsent(error()) for error in (kafka.SaslAuthenticationFailed, kafka.UnknownTopicOrPartitionError)]
    assert [error.pause for error in pauses if isinstance(error, RejectedError)] == [60.0, 30.0]


def test_parts_that_agree() -> None:
    assert together([]) is None
    assert together([None, None]) is None
    assert together([RETRY, RETRY]) is RETRY
    assert together([RejectedError("y"), NO]) is NO


@pytest.mark.parametrize("parts", [[None, RETRY], [RETRY, NO], [None, NO], [None, None, OPEN]])
def test_parts_that_do_not_agree_leave_the_whole_open(parts: list[DeliveryError | None]) -> None:
    assert isinstance(together(parts), AmbiguousError)
