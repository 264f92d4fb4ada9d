"""httpx2, which has httpx's interface and its own classes: one span for a call, on every loop, and without one."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from record.recorded import Recorder
from swagent import local_span

from .http_server import PATIENCE, HttpServer
from .httpx_peer import AsyncHttpxChecks, HttpxChecks

httpx2 = pytest.importorskip("httpx2")

pytestmark = pytest.mark.anyio
INSTRUMENTED = ("httpx2",)
AGAINST = "an HTTP server"
EXAMPLES = ("/orders",)
NEEDS = ("betterproto==2.0.0b7", "grpclib==0.4.9", "protobuf>=5.26", "starlette>=0.40", "uvicorn>=0.32")


class TestClient(HttpxChecks):
    library, module = "httpx2", httpx2

    def test_cookies_are_kept(self, recorder: Recorder) -> None:
        answer = httpx2.Response(200, headers={"set-cookie": "seat=7"})
        client = httpx2.Client(transport=httpx2.MockTransport(lambda _: answer))
        assert "sw8" in client.get("http://stock.test/orders").request.headers
        assert client.cookies["seat"] == "7"


class TestAsyncClient(AsyncHttpxChecks):
    library, module = "httpx2", httpx2


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
