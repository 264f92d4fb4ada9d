"""What each status means for a batch, wherever in the answer it stands."""

from __future__ import annotations

import pytest
from grpclib.const import Status

from support import answers
from support.client import Client, grpc_client
from support.h2_peer import Behaviour, H2Peer
from swagent.errors import AmbiguousError, DeliveryError, RejectedError

pytestmark = pytest.mark.anyio

PAUSES = {
    Status.PERMISSION_DENIED: 60.0,
    Status.UNAUTHENTICATED: 60.0,
    Status.RESOURCE_EXHAUSTED: 5.0,
    Status.UNIMPLEMENTED: 300.0,
    Status.INVALID_ARGUMENT: 0.0,
    Status.FAILED_PRECONDITION: 0.0,
    Status.OUT_OF_RANGE: 0.0,
    Status.DATA_LOSS: 0.0,
    Status.NOT_FOUND: 0.0,
    Status.ALREADY_EXISTS: 0.0,
}


def test_what_leaves_the_outcome_open() -> None:
    names = {status.name for status in Status if status not in PAUSES and status is not Status.OK}
    assert names == {"UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED", "ABORTED", "UNKNOWN", "INTERNAL"}


def check(error: DeliveryError | None, status: Status) -> None:
    assert error is not None, f"{status} was taken for a confirmation"
    assert status.name in str(error)
    if status in PAUSES:
        assert isinstance(error, RejectedError), error
        assert error.pause == PAUSES[status]
    else:
        assert isinstance(error, AmbiguousError), error


FORMS = {
    "trailers only": answers.trailers_only,
    "after a head": answers.status,
    "after a head, then a reset": lambda status: answers.first(answers.status(status), answers.reset(0)),
}


@pytest.mark.parametrize("form", FORMS)
async def test_every_status(form: str) -> None:
    with H2Peer(answers.confirm) as peer:
        async with grpc_client(peer.address) as client:
            for status in Status:
                peer.behave = FORMS[form](status)
                error = await client.verdict()
                if status is Status.OK:
                    assert error is None
                else:
                    check(error, status)
            assert await still_works(client, peer)
        assert len(peer.links) == 1, "a status is an answer: the connection is sound"


async def still_works(client: Client, peer: H2Peer) -> bool:
    peer.behave = answers.confirm
    return await client.verdict() is None


@pytest.mark.parametrize("status", [Status.PERMISSION_DENIED, Status.RESOURCE_EXHAUSTED, Status.UNAVAILABLE])
async def test_status_given_before_the_batch_was_heard(status: Status) -> None:
    """The window stays shut, so only the answer can end the sending."""
    with H2Peer(answers.trailers_only(status), eager=True, stingy=True) as peer:
        async with grpc_client(peer.address) as client:
            check(await client.verdict(bytes(300_000)), status)


async def test_ok_before_the_batch_was_heard_confirms_nothing() -> None:
    with H2Peer(answers.trailers_only(Status.OK), eager=True, stingy=True) as peer:
        async with grpc_client(peer.address) as client:
            assert isinstance(await client.verdict(bytes(300_000)), AmbiguousError)


@pytest.mark.parametrize("code", [b"99", b"-1", b"", b"zero", b"7" * 5000])
async def test_unknown_status_leaves_the_outcome_open(code: bytes) -> None:
    with H2Peer(answers.headers([*answers.OK_HEAD, (b"grpc-status", code)])) as peer:
        async with grpc_client(peer.address) as client:
            assert isinstance(await client.verdict(), AmbiguousError)


HTTP: dict[int, tuple[type[DeliveryError], float | None]] = {
    301: (AmbiguousError, None),
    400: (AmbiguousError, None),
    401: (RejectedError, 60.0),
    403: (RejectedError, 60.0),
    404: (RejectedError, 300.0),
    429: (AmbiguousError, None),
    500: (AmbiguousError, None),
    502: (AmbiguousError, None),
    503: (AmbiguousError, None),
    504: (AmbiguousError, None),
}


async def test_http_statuses_of_a_proxy_between() -> None:
    with H2Peer(answers.confirm) as peer:
        async with grpc_client(peer.address) as client:
            for code, (kind, pause) in HTTP.items():
                fields = [(b":status", str(code).encode()), (b"content-type", b"text/html")]
                peer.behave = answers.headers(fields, b"<html>sorry</html>")
                error = await client.verdict()
                assert type(error) is kind, f"{code}: {error!r}"
                assert getattr(error, "pause", None) == pause


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (b"calm down", "RESOURCE_EXHAUSTED calm down"),
        (b"a%0Aforged log line%1B[31m", "RESOURCE_EXHAUSTED a?forged log line?[31m"),
        (b"x" * 9000, "RESOURCE_EXHAUSTED xxxxx"),
    ],
)
async def test_what_the_peer_says_is_fit_for_a_log_line(text: bytes, shown: str) -> None:
    behave: Behaviour = answers.trailers_only(Status.RESOURCE_EXHAUSTED, text)
    with H2Peer(behave) as peer:
        async with grpc_client(peer.address) as client:
            said = str(await client.verdict())
            assert said.startswith(shown)
            assert len(said) < 300
