"""requests: the bodies that it streams, its sessions, and what it makes of one request after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version

import pytest
import requests
from requests.auth import HTTPDigestAuth

from record.recorded import Recorder
from swagent import local_span
from swagent.instrument import instrument, uninstrument

from .http_client_checks import HttpClientChecks, StreamChecks
from .http_server import HttpServer

INSTRUMENTED = ("requests",)
AGAINST = "an HTTP server"
EXAMPLES = ("/orders",)
NEEDS = ("betterproto==2.0.0b7", "grpclib==0.4.9", "protobuf>=5.26", "starlette>=0.40", "uvicorn>=0.32")


@pytest.fixture
def session() -> Iterator[requests.Session]:
    with requests.Session() as session:
        session.trust_env = False
        yield session


class TestRequests(HttpClientChecks, StreamChecks):
    library, component = "requests", "REQUESTS"

    def get(self, url: str, headers: Mapping[str, str] = {}, timeout: float | None = 10) -> None:
        # without an authentication the machine's ~/.netrc would be asked
        requests.get(url, headers=dict(headers), timeout=timeout, auth=lambda request: request).close()

    @contextmanager
    def stream(self, url: str) -> Iterator[Callable[[], bytes]]:
        with requests.Session() as session, session.get(url, stream=True) as response:
            yield lambda: b"".join(response.iter_content(4))

    @pytest.mark.skipif(version("urllib3") < "2", reason="version 1 takes what has come for the whole body")
    def test_a_body_that_ends_too_early_failed(self, recorder: Recorder, server: HttpServer) -> None:
        super().test_a_body_that_ends_too_early_failed(recorder, server)


def test_a_stream_that_is_not_read_on_ends_with_its_response(
    recorder: Recorder, session: requests.Session, server: HttpServer
) -> None:
    with local_span("job"), session.get(f"{server.url}/stream", stream=True):
        pass
    assert recorder.names == [["job", "/stream"]]
    assert not recorder.span("/stream").failed


def test_a_request_that_is_sent_again_may_be_read_by_another_thread_meanwhile(
    recorder: Recorder, session: requests.Session, server: HttpServer
) -> None:
    """As an adapter reads it that sends it there."""
    request = session.prepare_request(requests.Request("GET", f"{server.url}/orders"))
    with local_span("job"):
        session.send(request)
        names = iter(request.headers)
        next(names)
        session.send(request)
        assert "sw8" in names
    assert recorder.names == [["job", "/orders", "/orders"]]


def test_a_request_that_is_sent_twice_carries_each_call(
    recorder: Recorder, session: requests.Session, server: HttpServer
) -> None:
    prepared = session.prepare_request(requests.Request("GET", f"{server.url}/orders"))
    for _ in range(2):
        session.send(prepared)
    assert [carrier and carrier.segment_id for carrier in server.carriers] == [each.id for each in recorder.segments]


def test_a_login_belongs_to_its_call(recorder: Recorder, session: requests.Session, server: HttpServer) -> None:
    session.get(f"{server.url}/orders", auth=HTTPDigestAuth("user", "secret"))
    assert recorder.names == [["/orders"]]


@pytest.mark.parametrize("both", [False, True], ids=["alone", "over urllib3's"])
def test_it_needs_no_instrumentation_of_urllib3(
    both: bool, recorder: Recorder, session: requests.Session, server: HttpServer
) -> None:
    if both:
        instrument("urllib3")
    try:
        session.get(f"{server.url}/moved")
    finally:
        uninstrument("urllib3")
    assert recorder.names == [["/moved"]]
    assert [carrier and carrier.address for carrier in server.carriers] == [server.address, server.moved_address]
