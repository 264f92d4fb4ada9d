"""urllib3: pools with and without a manager, retries, and bodies that are read later."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import pytest
import urllib3

from record.recorded import Recorder

from .http_client_checks import HttpClientChecks, StreamChecks
from .http_server import HttpServer
from .trees import trees
from .watcher import Watcher

INSTRUMENTED = ("urllib3",)
AGAINST = "an HTTP server"
EXAMPLES = ("/orders",)
NEEDS = ("betterproto==2.0.0b7", "grpclib==0.4.9", "protobuf>=5.26", "starlette>=0.40", "uvicorn>=0.32")


@pytest.fixture
def pool(server: HttpServer) -> Iterator[urllib3.HTTPConnectionPool]:
    with urllib3.HTTPConnectionPool("127.0.0.1", server.server_port) as pool:
        yield pool


class TestUrllib3(HttpClientChecks, StreamChecks):
    library, component = "urllib3", "URLLIB3"

    def get(self, url: str, headers: Mapping[str, str] = {}, timeout: float | None = 10) -> None:
        with urllib3.PoolManager() as pool:
            retries = urllib3.Retry(2, connect=0, read=0)
            pool.request("GET", url, headers=dict(headers), timeout=timeout, retries=retries)

    @contextmanager
    def stream(self, url: str) -> Iterator[Callable[[], bytes]]:
        with urllib3.PoolManager() as pool:
            yield pool.request("GET", url, preload_content=False).read


def test_a_pool_without_a_manager_is_recorded(
    recorder: Recorder, pool: urllib3.HTTPConnectionPool, server: HttpServer, watcher: Watcher
) -> None:
    watcher.watch("urllib3")
    headers = {"x-own": "1"}
    pool.request("GET", "/orders?token=secret", headers=headers)
    assert trees(recorder) == (
        f"Exit /orders URLLIB3/HTTP {server.address} http.method=GET http.url={server.url}/orders http.status_code=200"
    )
    (carrier,) = server.carriers
    assert carrier is not None
    assert carrier.segment_id == recorder.only.id
    assert headers == {"x-own": "1"}
    assert [sent.url for _, sent in watcher.requests] == ["/orders?token=secret"]
    assert [answer.status for _, answer in watcher.responses] == [200]
    assert server.requests[0].headers["x-own"] == "1"


def test_retries_are_one_call(recorder: Recorder, pool: urllib3.HTTPConnectionPool, server: HttpServer) -> None:
    response = pool.request("GET", "/missing", retries=urllib3.Retry(2, status_forcelist=[404], raise_on_status=False))
    assert response.status == 404
    assert trees(recorder).endswith("http.status_code=404 FAILED")
    assert [carrier and carrier.segment_id for carrier in server.carriers] == [recorder.only.id] * 3


def test_through_a_proxy_the_peer_is_the_server(recorder: Recorder, server: HttpServer) -> None:
    with urllib3.ProxyManager(server.url) as proxy:
        proxy.request("GET", "http://stock.test/orders")
    assert recorder.span("/orders").peer == "stock.test:80"
    assert [carrier and carrier.address for carrier in server.carriers] == ["stock.test:80"]
