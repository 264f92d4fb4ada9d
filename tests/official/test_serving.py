"""An application with `from skywalking import ...` in it, as its user runs it: its records arrive under its names."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.servers import collector_thread
from swagent.collector.server import Collector

RUN = [sys.executable, "-m", "swagent", "run", "--"]

APP = """
import flask
from skywalking import Component, Layer, agent, config
from skywalking.decorators import trace
from skywalking.meter.counter import Counter, CounterMode
from skywalking.trace.context import get_context
from skywalking.trace.tags import Tag
import skywalking, skywalking.agent, skywalking.trace.span
import werkzeug.serving

config.init(agent_name="orders", agent_instance_name="orders-1", agent_collector_backend_services={address!r},
            agent_authentication="sesame", agent_asyncio_enhancement=True, speed=3)
config.agent_namespace = "test"
agent.start()
agent.start()

class TagItem(Tag):
    key = "item"

@trace(op="price", component=Component.General, tags=[TagItem("lamp")])
def price():
    return 3

with get_context().new_entry_span(op="/orders") as span:
    span.layer = Layer.Http
    assert price() == 3
Counter.Builder("orders_made", CounterMode.INCREMENT).build().increment(1)
assert skywalking.agent.agent.started
assert config.agent_name == "orders" and config.agent_protocol == "grpc"
print("done")
"""
SERVE = "import swagent.official; swagent.official.serve()\n"


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collector_thread(Collector(token="sesame")) as (collector, _):
        yield collector


def run(command: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("SW_")}
    return subprocess.run(
        command, env={**clean, **variables}, cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.gate
@pytest.mark.timeout(300)
@pytest.mark.parametrize("is_run", [True, False], ids=["swagent run", "serve"])
def test_an_application_of_the_official_agent_runs_unchanged(
    collector: Collector, tmp_path: Path, is_run: bool
) -> None:
    app = tmp_path / "app.py"
    app.write_text(("" if is_run else SERVE) + APP.format(address=collector.address))
    done = run([*(RUN if is_run else ()), sys.executable, str(app)], tmp_path, SW_AGENT_NAME="of the environment")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert done.stderr.count("config.init(speed=...): there is no such option; it is left out") == 1
    assert "official agent (apache-skywalking) as well" not in done.stderr
    (segment,) = collector.store.segments
    assert (segment.service, segment.instance) == ("orders|test", "orders-1")
    spans = {span.operation: span for span in segment.spans}
    assert [*spans] == ["price", "/orders"]
    assert (spans["price"].component_id, spans["price"].tags) == (7000, (("item", "lamp"),))
    assert any(meter.name == "orders_made" for meter in collector.store.meters)


@pytest.mark.gate
def test_a_part_that_is_not_served_is_no_module(tmp_path: Path) -> None:
    code = (
        "import skywalking.trace\ntry:\n import skywalking.plugins\nexcept ModuleNotFoundError as error: print(error)"
    )
    done = run([*RUN, sys.executable, "-c", code], tmp_path)
    assert done.stdout == "swagent serves no module 'skywalking.plugins' of the official agent\n", done.stderr


@pytest.mark.gate
def test_an_installed_agent_wins_unless_ours_is_asked_for(tmp_path: Path) -> None:
    package = tmp_path / "skywalking"
    package.mkdir()
    (package / "__init__.py").write_text("installed = True\n")
    code = "import skywalking; print(hasattr(skywalking, 'installed'))"
    command = [sys.executable, "-c", code]
    assert run([*RUN, *command], tmp_path).stdout == "True\n"
    assert run([sys.executable, "-c", SERVE + code], tmp_path).stdout == "False\n"


SERVER = """
import http.client, threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from skywalking import agent, config
config.init(agent_name="orders", agent_collector_backend_services={address!r}, agent_authentication="sesame")
agent.start()
server = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
thread = threading.Thread(target=server.serve_forever)
thread.start()
connection = http.client.HTTPConnection(*server.server_address)
connection.request("GET", "/")
assert connection.getresponse().status == 501
connection.close()
server.shutdown()
thread.join()
"""


@pytest.mark.gate
def test_the_line_of_a_server_names_the_service_that_the_application_has_set(
    collector: Collector, tmp_path: Path
) -> None:
    command = [*RUN, sys.executable, "-c", SERVER.format(address=collector.address)]
    done = run(command, tmp_path, SW_AGENT_NAME="of the environment")
    assert f"swagent: service 'orders' reports to {collector.address}" in done.stderr
