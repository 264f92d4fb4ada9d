"""One server of each kind under `swagent run`: each request is one entry span, with its route, status and error."""

from __future__ import annotations

import signal
from typing import NamedTuple

import pytest

from asgi.calling import tags
from servers.serving import PATIENCE, entries, served, wait_for
from swagent.collector.server import Collector
from swagent.record.trace.model import Component

pytestmark = pytest.mark.slow


class Kind(NamedTuple):
    """A server: what is called, what it calls its route, and which component it is."""

    command: str
    route: str
    component: int
    needs: str = "starlette"
    has_lifespan: bool = False


OWN = "servers/applications.py"
KINDS = {
    "uvicorn": Kind("-m uvicorn --port {port} servers.applications:asgi", "{id}", Component.PYTHON, "uvicorn", True),
    "hypercorn": Kind(
        "-m hypercorn --bind 127.0.0.1:{port} --workers 0 servers.applications:asgi", "{id}", Component.PYTHON,
        "hypercorn", True,
    ),
    "hypercorn on trio": Kind(
        "-m hypercorn --bind 127.0.0.1:{port} -k trio servers.applications:asgi", "{id}", Component.PYTHON,
        "hypercorn", True,
    ),
    "daphne": Kind("-m daphne -p {port} servers.applications:asgi", "{id}", Component.PYTHON, "daphne"),
    "aiohttp": Kind(OWN + " aiohttp {port}", "{id}", Component.AIOHTTP, "aiohttp"),
    "tornado": Kind(OWN + " tornado {port}", "{id}", Component.TORNADO, "tornado"),
    "http.server": Kind(OWN + " http_server {port}", "", Component.PYTHON),
    "wsgiref": Kind(OWN + " wsgiref {port}", "", Component.PYTHON),
    "flask run": Kind("-m flask --app servers.applications:flask run --port {port}", "<id>", Component.FLASK, "flask"),
    "flask run with its reloader": Kind(
        "-m flask --app servers.applications:flask --debug run --port {port}", "<id>", Component.FLASK, "flask"
    ),
    "manage.py runserver": Kind("servers/manage.py runserver {port}", "<id>", Component.DJANGO, "django"),
    "sanic": Kind(
        "-m sanic servers.sanic_app:app --port {port} --single-process", "<id:str>", Component.SANIC, "sanic"
    ),
    "sanic with workers": Kind(
        "-m sanic servers.sanic_app:app --port {port} --workers 2", "<id:str>", Component.SANIC, "sanic"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_each_request_is_one_entry_span(collector: Collector, name: str) -> None:
    kind = KINDS[name]
    pytest.importorskip(kind.needs)
    # Sanic's processes may wait for each other for ever when they are asked to end, with or without an agent
    end = signal.SIGKILL if "workers" in name else signal.SIGINT
    with served(collector, kind.command.split(), end=end, group=True) as server:
        processes = {server.ask("/items/7") for _ in range(10)}
        if "workers" in name:
            wait_for(lambda: len(entries(collector)) == 10 and len(collector.store.instances) == 2)
        if "flask" in name or "manage.py" in name:
            # their end does not wait for the threads of their requests, and a client has its answer a little earlier.
            # With a reloader, the process that is waited for is not the one that serves: that one may take longer to
            # end, and Django's reloader kills it a quarter of a second after Control-C
            wait_for(lambda: len(entries(collector)) == 10)
    if kind.has_lifespan:
        assert "the agent lives in the lifespan" in server.output
    segments = entries(collector)
    assert len(segments) == 10
    assert {each.spans[0].operation for each in segments} == {f"GET:/items/{kind.route or '7'}"}
    assert {each.spans[0].component_id for each in segments} == {kind.component}
    assert {tags(each.spans[0])["http.status_code"] for each in segments} == {"200"}
    found = {dict(each.properties)["Process No."] for each in collector.store.instances}
    assert processes <= found
    assert len(found) == (2 if "workers" in name else 1)


@pytest.mark.parametrize("name", ["aiohttp", "tornado", "http.server", "sanic"])
def test_a_failure_and_an_answer_that_is_none(collector: Collector, name: str) -> None:
    kind = KINDS[name]
    pytest.importorskip(kind.needs)
    with served(collector, kind.command.split(), end=signal.SIGINT, group=True, tracebacks=True) as server:
        server.ask("/items/7")
        server.ask("/items/gone")
        server.ask_once("/items/broken")
        server.ask_once("/items/handled")
        server.ask("/nowhere")
    spans = {tags(each.spans[0])["http.url"].rpartition("/")[2]: each.spans[0] for each in entries(collector)}
    by_status = {tags(each.spans[0]).get("http.status_code"): each.spans[0] for each in entries(collector)}
    assert not by_status["410"].is_error
    [broken] = [span for span in (each.spans[0] for each in entries(collector)) if span.is_error]
    assert [dict(log.data)["error.kind"] for log in broken.logs] == ["LookupError"]
    if kind.route:
        assert by_status["404"].operation == "GET:_unmatched"
    assert len(spans) >= 1


def test_a_script_has_its_agent_at_once_and_its_own_status(collector: Collector) -> None:
    with served(collector, ["servers/script.py"]) as server:
        server.process.wait(PATIENCE)
    assert server.status == 7
    assert [each.spans[0].operation for each in collector.store.segments] == ["step"]
    assert len(collector.store.instances) == 1


def test_what_an_application_of_rsgi_answers_shows(collector: Collector) -> None:
    pytest.importorskip("granian")
    command = "-m granian --port {port} --interface rsgi servers.applications:rsgi"
    with served(collector, command.split(), tracebacks=True) as server:
        for path in ("/items/7", "/fail", "/silent", "/stream", "/read"):
            server.ask(path)
        with pytest.importorskip("websockets.sync.client").connect(f"ws://127.0.0.1:{server.port}/talk") as talk:
            talk.send("hello")
            assert talk.recv() == "hello"
        wait_for(lambda: len(entries(collector)) == 6)
    spans = {each.spans[0].operation: each.spans[0] for each in entries(collector)}
    assert {name: tags(span)["http.status_code"] for name, span in spans.items()} == {
        "GET:/items/7": "200",
        "GET:/fail": "500",
        "GET:/silent": "500",
        "GET:/stream": "203",
        "GET:/read": "201",
        "WEBSOCKET:/talk": "101",
    }
    assert [name for name, span in spans.items() if span.is_error] == ["GET:/fail", "GET:/silent"]
    assert {span.component_id for span in spans.values()} == {Component.PYTHON}
