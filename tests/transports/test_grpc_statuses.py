"""The meaning of each status for a batch, wherever in the answer it is."""

from __future__ import annotations

import pytest
from grpclib.const import Status
from h2.settings import SettingCodes

from faults.covering import covers
from kit import answers
from kit.client import Client
from kit.each import grpc_client
from kit.h2_peer import Call, H2Peer
from kit.servers import Behaviour
from swagent.errors import AmbiguousError, DeliveryError, RejectedError, RetryableError

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


def test_statuses_that_leave_the_outcome_open() -> None:
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


@pytest.mark.one_loop
@covers("F15", "grpc")
@pytest.mark.parametrize("form", FORMS)
async def test_every_status(form: str) -> None:
    with H2Peer(answers.confirm) as peer:
        # a refusal makes a connection old, by chance at once
        async with grpc_client(peer.address, connection_max_age=0.0) as client:
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


async def amid(call: Call) -> None:
    while not call.body:
        await answers.late(0.002)(call)


# when the status comes, and what opens before: the window for the batch's bytes, which never opens any further
EARLY: dict[str, tuple[Behaviour | None, int]] = {
    "before the batch was heard": (None, 0),
    "amid the batch": (amid, 65_535),
}


@pytest.mark.gate
@pytest.mark.one_loop
@covers("F15", "grpc")
@pytest.mark.parametrize("ending", [None, answers.reset(0)], ids=["", "then a reset"])
@pytest.mark.parametrize("moment", EARLY)
async def test_every_status_that_comes_early(moment: str, ending: Behaviour | None) -> None:
    """So only the answer can end the sending."""
    begin, window = EARLY[moment]
    settings = {SettingCodes.INITIAL_WINDOW_SIZE: window}
    for status in Status:
        steps = [begin, answers.trailers_only(status), ending]
        behave = answers.first(*[each for each in steps if each is not None])
        with H2Peer(behave, settings=settings, eager=True, stingy=True) as peer:
            async with grpc_client(peer.address) as client:
                error = await client.verdict(bytes(300_000))
        if status in PAUSES:
            check(error, status)
        elif window:
            assert isinstance(error, AmbiguousError), f"{status}: {error!r}"
        else:
            assert isinstance(error, RetryableError), f"{status}: not one byte has left, and {error!r}"


# what may be asked for is read by test_retry_info.py
ASKED = {answers.retry_info(Status.RESOURCE_EXHAUSTED, 7): 7.0, b"": 5.0, b"%%%": 5.0, b"AAAA" * 1000: 5.0}


@pytest.mark.one_loop
@covers("F15", "grpc")
@pytest.mark.parametrize("form", ["trailers only", "after a head"])
async def test_delay_that_is_asked_for(form: str) -> None:
    with H2Peer(answers.confirm) as peer:
        async with grpc_client(peer.address) as client:
            for details, pause in ASKED.items():
                for status in (Status.RESOURCE_EXHAUSTED, Status.INVALID_ARGUMENT):
                    last = [*answers.trailers(status), (b"grpc-status-details-bin", details)]
                    both = answers.OK_HEAD + last
                    peer.behave = answers.headers(both) if form == "trailers only" else answers.ending(last)
                    error = await client.verdict()
                    assert isinstance(error, RejectedError), error
                    assert error.pause == (pause if status is Status.RESOURCE_EXHAUSTED else 0.0)
        assert len(peer.links) == 1


@pytest.mark.one_loop
@covers("F15", "grpc")
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


@pytest.mark.one_loop
@covers("F14", "grpc")
async def test_http_statuses_of_a_proxy_between() -> None:
    with H2Peer(answers.confirm) as peer:
        async with grpc_client(peer.address) as client:
            for code, (kind, pause) in HTTP.items():
                fields = [(b":status", str(code).encode()), (b"content-type", b"text/html")]
                peer.behave = answers.headers(fields, b"<html>sorry</html>")
                error = await client.verdict()
                assert type(error) is kind, f"{code}: {error!r}"
                assert getattr(error, "pause", None) == pause


@pytest.mark.one_loop
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (b"calm down", "RESOURCE_EXHAUSTED calm down"),
        (b"a%0Aforged log line%1B[31m", "RESOURCE_EXHAUSTED a?forged log line?[31m"),
        (b"x" * 9000, "RESOURCE_EXHAUSTED xxxxx"),
    ],
)
async def test_the_text_of_a_peer_is_fit_for_a_log_line(text: bytes, shown: str) -> None:
    behave: Behaviour = answers.trailers_only(Status.RESOURCE_EXHAUSTED, text)
    with H2Peer(behave) as peer:
        async with grpc_client(peer.address) as client:
            said = str(await client.verdict())
            assert said.startswith(shown)
            assert len(said) < 300
