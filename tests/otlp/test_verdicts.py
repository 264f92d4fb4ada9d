"""The meaning of each answer of a collector of OTLP for a batch."""

from __future__ import annotations

from typing import Any

import pytest
from grpclib.const import Status

from kit import answers, http_answers
from kit.otlp import partial
from otlp.clients import TRANSPORTS, client_of, with_retry_info
from otlp.samples import numbered
from swagent.abc import Instance
from swagent.errors import AmbiguousError, DeliveryError, RejectedError, RetryableError

pytestmark = pytest.mark.anyio

_REJECTED = {
    Status.PERMISSION_DENIED: 60.0,
    Status.UNAUTHENTICATED: 60.0,
    Status.RESOURCE_EXHAUSTED: 5.0,
    Status.UNIMPLEMENTED: 300.0,
    Status.INVALID_ARGUMENT: 0.0,
    Status.FAILED_PRECONDITION: 0.0,
    Status.NOT_FOUND: 0.0,
    Status.ALREADY_EXISTS: 0.0,
}


def described(error: DeliveryError | None) -> tuple[type, float]:
    return type(error), getattr(error, "pause", 0.0)


async def test_every_status_of_grpc() -> None:
    found = {}
    async with client_of("otlp") as client:
        for status in Status:
            client.peer.behave = answers.status(status)
            found[status] = described(await client.verdict(numbered(1)))
    assert found.pop(Status.OK) == (type(None), 0.0)
    assert found.pop(Status.UNAVAILABLE) == (RetryableError, 5.0)
    assert {status: pause for status, (kind, pause) in found.items() if kind is RejectedError} == _REJECTED
    assert {kind for status, (kind, _) in found.items() if status not in _REJECTED} == {AmbiguousError}


async def test_a_collector_that_names_a_time_gets_the_batch_again_and_a_proxy_without_one_does_not() -> None:
    async with client_of("otlp", connection_max_age=0.0) as client:
        for status in (Status.UNAVAILABLE, Status.RESOURCE_EXHAUSTED):
            client.peer.behave = with_retry_info(status, 7)
            assert described(await client.verdict(numbered(1))) == (RetryableError, 7.0)
        client.peer.behave = answers.headers([(b":status", b"502")])
        assert described(await client.verdict(numbered(1))) == (AmbiguousError, 0.0)


_OVER_HTTP: dict[tuple[Any, ...], tuple[type, float]] = {
    (200,): (type(None), 0.0),
    (400,): (RejectedError, 0.0),
    (401,): (RejectedError, 60.0),
    (403,): (RejectedError, 60.0),
    (404,): (RejectedError, 300.0),
    (429,): (RetryableError, 5.0),
    (429, "Retry-After: 11"): (RetryableError, 11.0),
    (503, "Retry-After: 3"): (RetryableError, 3.0),
    **{(status,): (AmbiguousError, 0.0) for status in (500, 502, 504)},
}


async def test_every_status_of_http() -> None:
    async with client_of("otlp-http", connection_max_age=0.0) as client:
        for status, expected in _OVER_HTTP.items():
            client.peer.behave = http_answers.status(*status)
            assert described(await client.verdict(numbered(1))) == expected, status


@pytest.mark.parametrize("protocol", TRANSPORTS)
async def test_partial_success_counts_what_was_refused(protocol: str) -> None:
    async with client_of(protocol) as client:
        client.reply(partial("traces", 2, "too\nlong"))
        error = await client.verdict(*map(numbered, range(5)))
        assert isinstance(error, RejectedError)
        assert (error.count, error.pause) == (2, 0.0)
        assert str(error) == "partial success, 2 refused: too?long"
        client.reply(partial("traces", 1000))
        error = await client.verdict(numbered(1))
        assert isinstance(error, RejectedError)
        assert error.count == 1, "never more than there were"


REPLIES = [
    *(b"", partial("traces", 0), partial("traces", 0, "a warning"), b"\xff\xff", b"\x08\x01"),
    # texts where numbers belong, and numbers where texts do
    *(b"\x0a\x02\x10\x05", b"\x0a\x04\x08\x03\x10\x05", b"\x0a\x03\x0a\x01\x05"),
]


@pytest.mark.parametrize("protocol", TRANSPORTS)
async def test_a_success_without_refusals_is_one(protocol: str) -> None:
    async with client_of(protocol) as client:
        for reply in REPLIES:
            client.reply(reply)
            assert await client.verdict(numbered(1)) is None, reply


@pytest.mark.parametrize("protocol", TRANSPORTS)
async def test_a_record_that_cannot_be_read_is_refused_unsent(protocol: str) -> None:
    async with client_of(protocol) as client:
        error = await client.verdict(numbered(1), b"record")
        assert isinstance(error, RejectedError)
        assert "cannot be read" in str(error)
        assert not client.peer.calls


@pytest.mark.parametrize("protocol", TRANSPORTS)
async def test_a_collector_without_traces_is_reached_all_the_same(protocol: str) -> None:
    async with client_of(protocol) as client:
        is_grpc = protocol == "otlp"
        client.peer.behave = answers.status(Status.UNIMPLEMENTED) if is_grpc else http_answers.status(404)
        await client.run(client.transport.keep_alive, Instance("shop", "shop-1"))
        client.peer.behave = answers.status(Status.UNAUTHENTICATED) if is_grpc else http_answers.status(401)
        with pytest.raises(RejectedError):
            await client.run(client.transport.keep_alive, Instance("shop", "shop-1"))
