"""httpx2, which has httpx's interface and its own classes: one span for a call, on every loop, and without one."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from typing import Any

import anyio
import pytest

from record.recorded import Recorder, recording
from swagent import exit_span, local_span
from swagent.record.trace.carrier import parse_sw8
from swagent.record.trace.model import Component, SpanRecord

from .http_server import PATIENCE, HttpServer
from .httpx_peer import Peer
from .trees import trees

httpx2 = pytest.importorskip("httpx2")

pytestmark = pytest.mark.anyio
INSTRUMENTED = ("httpx2",)
AGAINST = "an HTTP server"
EXAMPLES = ("/orders",)


def collected_by(span: SpanRecord) -> str | None:
    # the other one is of the server that a test calls
    return "httpx2" if span.component == Component.HTTPX else None


@pytest.fixture
def peer() -> Peer:
    return Peer(httpx2, {"set-cookie": "seat=7"})


@pytest.fixture
def client(peer: Peer) -> Any:
    return httpx2.Client(transport=httpx2.MockTransport(peer.answer))


@pytest.fixture
def async_client(peer: Peer) -> Any:
    return httpx2.AsyncClient(transport=httpx2.MockTransport(peer.answer_async))


def test_a_call_is_one_span_and_carries_the_context(recorder: Recorder, client: Any, peer: Peer) -> None:
    with local_span("job"):
        client.get("http://user:secret@stock.test/orders/17?token=secret")
    assert trees(recorder) == (
        "Local job\n"
        "  Exit /orders/{id} HTTPX/HTTP stock.test:80 http.method=GET http.url=http://stock.test/orders/{id} "
        "http.status_code=200"
    )
    carrier = parse_sw8(peer.requests[0].headers["sw8"])
    assert carrier is not None
    assert (carrier.trace_id, carrier.segment_id) == (recorder.only.trace_id, recorder.only.id)
    assert (carrier.span_id, carrier.address) == (1, "stock.test:80")
    assert client.cookies["seat"] == "7"


async def test_a_call_of_the_async_client_too(recorder: Recorder, async_client: Any) -> None:
    with local_span("job"):
        await async_client.post("https://stock.test:8443/orders", json={"a": 1})
    assert trees(recorder) == (
        "Local job\n"
        "  Exit /orders HTTPX/HTTP stock.test:8443 http.method=POST http.url=https://stock.test:8443/orders "
        "http.status_code=200"
    )


def test_a_redirect_belongs_to_its_call_and_sends_each_host_its_own_address(
    recorder: Recorder, client: Any, peer: Peer
) -> None:
    with local_span("job"):
        client.get("http://stock.test/moved", follow_redirects=True)
    assert recorder.names == [["job", "/moved"]]
    carriers = [parse_sw8(request.headers["sw8"]) for request in peer.requests]
    assert [carrier and carrier.address for carrier in carriers] == ["stock.test:80", "other.test:80"]


def test_a_redirect_to_a_host_that_may_not_know_carries_nothing(client: Any, peer: Peer) -> None:
    with recording(propagate_to=["stock.test"]), local_span("job"):
        client.get("http://stock.test/moved", follow_redirects=True)
    assert ["sw8" in request.headers for request in peer.requests] == [True, False]


@pytest.mark.parametrize(
    ("path", "ends"),
    [("/missing", "http.status_code=404 FAILED"), ("/refused", "http.url=http://stock.test/refused FAILED")],
)
def test_a_failure_shows(path: str, ends: str, recorder: Recorder, client: Any) -> None:
    with suppress(httpx2.ConnectError):
        client.get(f"http://stock.test{path}")
    assert trees(recorder).endswith(ends)


async def test_a_streamed_body_belongs_to_the_call(recorder: Recorder, async_client: Any) -> None:
    with local_span("job"):
        async with async_client.stream("GET", "http://stock.test/orders") as response:
            with local_span("work"):
                pass
            assert not recorder.segments
            async for _ in response.aiter_bytes():
                pass
    assert [recorder.parent_of(name) for name in ("/orders", "work")] == ["job", "job"]
    assert recorder.span("work").end_time <= recorder.span("/orders").end_time


async def test_a_call_that_is_given_up_shows_that(recorder: Recorder, async_client: Any) -> None:
    with anyio.move_on_after(0.01), local_span("job"):
        await async_client.get("http://stock.test/slow")
    assert dict(recorder.span("/slow").tags)["outcome"] in ("cancelled", "timed_out")
    assert not recorder.span("/slow").failed


def test_a_call_inside_a_call_carries_the_outer_one_whatever_was_written(
    recorder: Recorder, client: Any, peer: Peer
) -> None:
    with exit_span("by hand", "stock.test:80"):
        client.get("http://stock.test/orders", headers={"sw8": "a caller's, passed on"})
    assert recorder.names == [["by hand"]]
    carrier = parse_sw8(peer.requests[0].headers["sw8"])
    assert carrier is not None
    assert carrier.segment_id == recorder.only.id


async def test_over_a_real_connection_with_a_wait_for_the_pool(recorder: Recorder, server: HttpServer) -> None:
    limits = httpx2.Limits(max_connections=1)
    async with httpx2.AsyncClient(trust_env=False, limits=limits) as client:
        with local_span("job"):
            await client.get(f"{server.url}/orders/17")
            with pytest.raises(httpx2.ReadTimeout):
                await client.get(f"{server.url}/held", timeout=httpx2.Timeout(PATIENCE, read=0.05))
            async with client.stream("GET", f"{server.url}/orders/18"):
                with pytest.raises(httpx2.PoolTimeout):
                    await client.get(f"{server.url}/orders/19", timeout=httpx2.Timeout(PATIENCE, pool=0.05))
    names = recorder.only.names
    assert names[:3] == ["job", "/orders/{id}", "/held"]
    assert [name for name in names if name.startswith("pool ")] == [f"pool {server.url.removeprefix('http://')}"]
    assert dict(recorder.span("/held").tags)["outcome"] == "timed_out"
    assert dict(recorder.span("/held").logs[0][1])["error.kind"] == "httpx2.ReadTimeout"


@pytest.mark.gate
@pytest.mark.skipif(not hasattr(httpx2, "alias_httpx"), reason="it is newer")
def test_httpx_by_another_name_is_recorded_too() -> None:
    program = (
        "import httpx2\n"
        "httpx2.alias_httpx()\n"
        "import httpx\n"
        "from record.recorded import recording\n"
        "from swagent import local_span\n"
        "client = httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200)))\n"
        "with recording() as recorder, local_span('job'):\n"
        "    client.get('http://stock.test/orders')\n"
        "print(recorder.names)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", "from swagent.instrument import instrument; instrument()\n" + program],
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.stdout, ran.returncode) == ("[['job', '/orders']]\n", 0), ran.stderr
