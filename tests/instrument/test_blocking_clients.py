"""requests, urllib3 and urllib.request: one span for what the user calls one call, whichever calls whichever."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import pytest
import urllib3.exceptions

from kit.servers import dead_address
from record.recorded import Recorder, recording
from swagent import exit_span, local_span
from swagent.record.suppression import suppress_instrumentation
from swagent.record.trace.model import Component, SpanRecord

from .blocking_clients import CLIENTS
from .http_server import HttpServer
from .trees import trees

INSTRUMENTED = ("requests", "urllib3", "urllib-request")
AGAINST = "an HTTP server"
EXAMPLES = ("/orders",)
NEEDS = ("betterproto==2.0.0b7", "grpclib==0.4.9", "protobuf>=5.26", "starlette>=0.40", "uvicorn>=0.32")


def collected_by(span: SpanRecord) -> str | None:
    components = {component: name for name, (_, component) in CLIENTS.items()}
    return components.get(Component(span.component).name)


class Client:
    def __init__(self, name: str) -> None:
        self._get, self.component = CLIENTS[name]

    def get(self, url: str, headers: Mapping[str, str] = {}, timeout: float | None = 10) -> None:
        self._get(url, headers, timeout)


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest) -> Client:
    return Client(request.param)


def test_a_call_is_one_span_and_carries_the_context(recorder: Recorder, client: Client, server: HttpServer) -> None:
    with local_span("job"):
        client.get(f"{server.url}/orders/17?token=secret")
    assert trees(recorder) == (
        "Local job\n"
        f"  Exit /orders/{{id}} {client.component}/HTTP {server.address} http.method=GET "
        f"http.url={server.url}/orders/{{id}} http.status_code=200"
    )
    (carrier,) = server.carriers
    assert carrier is not None
    assert (carrier.trace_id, carrier.segment_id) == (recorder.only.trace_id, recorder.only.id)
    assert (carrier.span_id, carrier.address) == (1, server.address)


def test_a_redirect_belongs_to_its_call_and_sends_each_host_its_own_address(
    recorder: Recorder, client: Client, server: HttpServer
) -> None:
    with local_span("job"):
        client.get(f"{server.url}/moved")
    assert recorder.names == [["job", "/moved"]]
    assert dict(recorder.span("/moved").tags)["http.status_code"] == "200"
    assert [carrier and carrier.address for carrier in server.carriers] == [server.address, server.moved_address]


def test_a_redirect_to_a_host_that_may_not_know_carries_nothing(client: Client, server: HttpServer) -> None:
    with recording(propagate_to=[server.address]), local_span("job"):
        client.get(f"{server.url}/moved")
    assert [carrier is not None for carrier in server.carriers] == [True, False]


def test_a_status_of_an_error_shows(recorder: Recorder, client: Client, server: HttpServer) -> None:
    client.get(f"{server.url}/missing")
    assert trees(recorder).endswith("http.status_code=404 FAILED")


def test_a_refused_connection_shows(recorder: Recorder, client: Client) -> None:
    with dead_address() as address, suppress(OSError, urllib3.exceptions.HTTPError):
        client.get(f"http://{address}/orders")
    assert recorder.span("/orders").failed
    assert recorder.span("/orders").logs


def test_a_timeout_shows_as_one(recorder: Recorder, client: Client, server: HttpServer) -> None:
    with suppress(OSError, urllib3.exceptions.HTTPError):
        client.get(f"{server.url}/held", timeout=0.05)
    assert dict(recorder.span("/held").tags)["outcome"] == "timed_out"
    assert recorder.span("/held").failed


def test_a_call_inside_a_call_carries_the_outer_one_whatever_was_written(
    recorder: Recorder, client: Client, server: HttpServer
) -> None:
    with exit_span("by hand", server.address):
        client.get(f"{server.url}/orders", headers={"sw8": "a caller's, passed on"})
    assert recorder.names == [["by hand"]]
    (carrier,) = server.carriers
    assert carrier is not None
    assert carrier.segment_id == recorder.only.id


def test_the_agents_own_calls_are_left_alone(recorder: Recorder, client: Client, server: HttpServer) -> None:
    with exit_span("the application's", server.address):
        token = suppress_instrumentation.set(True)
        client.get(f"{server.url}/orders")
        suppress_instrumentation.reset(token)
    assert recorder.names == [["the application's"]]
    assert server.carriers == [None]


def test_without_an_agent_nothing_is_done(client: Client, server: HttpServer) -> None:
    client.get(f"{server.url}/orders", headers={"sw8": "as it came"})
    assert server.requests[0][1]["sw8"] == "as it came"
