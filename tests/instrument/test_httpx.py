"""httpx: one span for what its user calls one call, on every loop, and without one."""

from __future__ import annotations

import pickle
from collections.abc import Generator
from http.cookiejar import CookieJar
from typing import Any, cast

import anyio
import httpx
import pytest

from record.recorded import Recorder, recording
from swagent import local_span
from swagent.record.suppression import suppress_instrumentation
from swagent.record.trace.carrier import parse_sw8

from .httpx_peer import AsyncHttpxChecks, HttpxChecks, Peer
from .trees import trees

pytestmark = pytest.mark.anyio
INSTRUMENTED = ("httpx",)
AGAINST = "an HTTP server"
EXAMPLES = ("/orders",)
NEEDS = ("betterproto==2.0.0b7", "grpclib==0.4.9", "protobuf>=5.26", "starlette>=0.40", "uvicorn>=0.32")


class TestClient(HttpxChecks):
    library, module = "httpx", cast("Any", httpx)


class TestAsyncClient(AsyncHttpxChecks):
    library, module = "httpx", cast("Any", httpx)


@pytest.fixture
def peer() -> Peer:
    return Peer(httpx)


@pytest.fixture
def client(peer: Peer) -> httpx.Client:
    return httpx.Client(transport=httpx.MockTransport(peer.answer))


@pytest.fixture
def async_client(peer: Peer) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.MockTransport(peer.answer_async))


async def test_a_timeout_shows_as_one(recorder: Recorder, async_client: httpx.AsyncClient) -> None:
    with anyio.move_on_after(0.01), local_span("job"):
        await async_client.get("http://stock.test/slow")
    tags = dict(recorder.span("/slow").tags)
    assert tags["outcome"] in ("cancelled", "timed_out")
    assert not recorder.span("/slow").failed


async def test_a_streamed_body_belongs_to_the_call_and_what_is_done_meanwhile_does_not(
    recorder: Recorder, async_client: httpx.AsyncClient
) -> None:
    with local_span("job"):
        async with async_client.stream("GET", "http://stock.test/orders") as response:
            with local_span("work"):
                pass
            assert not recorder.segments
            async for _ in response.aiter_bytes():
                pass
    assert [recorder.parent_of(name) for name in ("/orders", "work")] == ["job", "job"]
    work, call = recorder.span("work"), recorder.span("/orders")
    assert work.end_time <= call.end_time
    assert not call.failed


def test_a_response_whose_body_is_still_to_come_can_be_pickled(recorder: Recorder, client: httpx.Client) -> None:
    with local_span("job"), client.stream("GET", "http://stock.test/orders") as response:
        response.extensions.clear()
        other = pickle.loads(pickle.dumps(response))
        other.close()
        assert not recorder.segments
    assert trees(recorder).count("Exit /orders") == 1


def test_a_stream_that_is_broken_off_by_an_error_failed(recorder: Recorder, client: httpx.Client) -> None:
    with pytest.raises(RuntimeError), local_span("job"), client.stream("GET", "http://stock.test/orders"):
        raise RuntimeError("enough")
    assert recorder.span("/orders").failed


def test_the_context_is_there_once_whatever_the_application_passes_on(client: httpx.Client, peer: Peer) -> None:
    headers = [("traceparent", "a caller's"), ("Traceparent", "another's"), ("x-own", "kept")]
    with recording(), local_span("job"):
        client.get("http://stock.test/orders", headers=headers)
    raw = peer.requests[0].headers.raw
    assert [name.lower() for name, _ in raw].count(b"traceparent") == 1
    assert (b"x-own", b"kept") in raw
    assert peer.requests[0].headers["traceparent"].startswith("00-")


def test_headers_of_any_text_can_be_set_once_the_context_is_there(recorder: Recorder, peer: Peer) -> None:
    def name_sender(request: httpx.Request) -> None:
        request.headers["x-sender"] = "Zoë"

    client = httpx.Client(transport=httpx.MockTransport(peer.answer), event_hooks={"request": [name_sender]})
    token = suppress_instrumentation.set(True)
    try:
        client.get("http://stock.test/orders")
    except UnicodeEncodeError:
        pytest.skip("this httpx settles on ASCII by itself")
    finally:
        suppress_instrumentation.reset(token)
    client.get("http://stock.test/orders")
    assert peer.requests[1].headers["x-sender"] == "Zoë"
    assert parse_sw8(peer.requests[1].headers["sw8"]) is not None
    assert recorder.names == [["/orders"]]


def test_headers_that_are_another_mapping_carry_the_context_too(recorder: Recorder, client: httpx.Client) -> None:
    request = client.build_request("GET", "http://stock.test/orders")
    request.headers = headers = {"sw8": "a caller's"}  # type: ignore[assignment]
    client.send(request)
    carrier = parse_sw8(headers["sw8"])
    assert carrier is not None
    assert carrier.segment_id == recorder.only.id


class Jar(CookieJar):
    """Notes which headers of the context a request has while it looks for cookies."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[bool, bool]] = []

    def extract_cookies(self, response: Any, request: Any) -> None:
        self.seen.append((request.has_header("Sw8"), request.has_header("X-own")))
        super().extract_cookies(response, request)
        if len(self.seen) == 3:
            raise RuntimeError("a jar that is full")


def test_the_context_is_not_there_while_cookies_are_looked_for_and_is_there_again(recorder: Recorder) -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"set-cookie": "seat=7"})

    jar = Jar()
    client = httpx.Client(transport=httpx.MockTransport(answer), cookies=jar, headers={"x-own": "kept"})
    answers = [client.get("http://stock.test/orders") for _ in range(2)]
    request = client.build_request("GET", "http://stock.test/orders")
    with pytest.raises(RuntimeError, match="full"):
        client.send(request)
    assert jar.seen == [(False, True)] * 3
    assert client.cookies["seat"] == "7"
    written = [parse_sw8(each.headers["sw8"]) for each in (answers[0].request, answers[1].request, request)]
    assert [carrier and carrier.segment_id for carrier in written] == [each.id for each in recorder.segments]


def test_the_context_stays_where_a_login_has_added_a_header_behind_it(recorder: Recorder) -> None:
    client = httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200)), auth=("user", "secret"))
    request = client.get("http://stock.test/orders").request
    assert parse_sw8(request.headers["sw8"]) is not None
    assert request.headers["authorization"].startswith("Basic")


def test_cookies_of_a_response_without_a_request_are_asked_for_as_before(recorder: Recorder) -> None:
    with pytest.raises(RuntimeError, match="request instance"):
        httpx.Cookies().extract_cookies(httpx.Response(200))
    response = httpx.Response(200, headers={"set-cookie": "seat=7"}, request=httpx.Request("GET", "http://stock.test/"))
    assert response.cookies["seat"] == "7"


def test_a_request_that_is_sent_twice_carries_each_call(recorder: Recorder, client: httpx.Client, peer: Peer) -> None:
    request = client.build_request("GET", "http://stock.test/orders")
    carried = []
    for _ in range(2):
        client.send(request)
        carried.append(parse_sw8(request.headers["sw8"]))
    assert [carrier and carrier.segment_id for carrier in carried] == [each.id for each in recorder.segments]


class Login(httpx.Auth):
    """Asks a second time."""

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        yield request
        yield request


async def test_a_login_and_hooks_belong_to_their_call(
    recorder: Recorder, async_client: httpx.AsyncClient, peer: Peer
) -> None:
    async def hook(response: httpx.Response) -> None:
        with local_span("hook"):
            await anyio.lowlevel.checkpoint()

    async_client.event_hooks = {"response": [hook]}
    await async_client.get("http://stock.test/orders", auth=Login())
    assert recorder.names == [["/orders", "hook", "hook"]]
    assert len(peer.requests) == 2
