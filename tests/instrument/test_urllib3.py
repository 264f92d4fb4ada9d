"""urllib3: pools with and without a manager, retries, and bodies that are read later."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import urllib3

from record.recorded import Recorder
from swagent import local_span

from .http_server import HttpServer
from .trees import trees

INSTRUMENTED = ("urllib3",)
AGAINST = "an HTTP server"
EXAMPLES = ("/orders",)


@pytest.fixture
def pool(server: HttpServer) -> Iterator[urllib3.HTTPConnectionPool]:
    with urllib3.HTTPConnectionPool("127.0.0.1", server.server_port) as pool:
        yield pool


def test_a_pool_without_a_manager_is_recorded(
    recorder: Recorder, pool: urllib3.HTTPConnectionPool, server: HttpServer
) -> None:
    headers = {"x-own": "1"}
    pool.request("GET", "/orders?token=secret", headers=headers)
    assert trees(recorder) == (
        f"Exit /orders URLLIB3/HTTP {server.address} http.method=GET http.url={server.url}/orders http.status_code=200"
    )
    (carrier,) = server.carriers
    assert carrier is not None
    assert carrier.segment_id == recorder.only.id
    assert headers == {"x-own": "1"}
    assert server.requests[0][1]["x-own"] == "1"


def test_retries_are_one_call(recorder: Recorder, pool: urllib3.HTTPConnectionPool, server: HttpServer) -> None:
    response = pool.request("GET", "/missing", retries=urllib3.Retry(2, status_forcelist=[404], raise_on_status=False))
    assert response.status == 404
    assert trees(recorder).endswith("http.status_code=404 FAILED")
    assert [carrier and carrier.segment_id for carrier in server.carriers] == [recorder.only.id] * 3


def test_a_body_that_is_read_later_belongs_to_the_call(
    recorder: Recorder, pool: urllib3.HTTPConnectionPool, server: HttpServer
) -> None:
    with local_span("job"):
        response = pool.request("GET", "/stream", preload_content=False)
        with local_span("work"):
            server.release.set()
        assert not recorder.segments
        assert response.read() == b"halfhalf"
    assert [recorder.parent_of(name) for name in ("/stream", "work")] == ["job", "job"]
    assert recorder.span("/stream").end_time >= recorder.span("work").end_time


def test_a_body_that_ends_too_early_failed(
    recorder: Recorder, pool: urllib3.HTTPConnectionPool, server: HttpServer
) -> None:
    response = pool.request("GET", "/broken", preload_content=False)
    with pytest.raises(urllib3.exceptions.HTTPError):
        response.read()
    assert recorder.span("/broken").failed


def test_through_a_proxy_the_peer_is_the_server(recorder: Recorder, server: HttpServer) -> None:
    with urllib3.ProxyManager(server.url) as proxy:
        proxy.request("GET", "http://stock.test/orders")
    assert recorder.span("/orders").peer == "stock.test:80"
    assert [carrier and carrier.address for carrier in server.carriers] == ["stock.test:80"]
