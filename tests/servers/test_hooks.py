"""The hooks of servers and frameworks, in this process: what they put in place, what they record, and that they go."""

from __future__ import annotations

import http.client
import re
import threading
import wsgiref.simple_server
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import flask
import pytest
import uvicorn

from asgi.calling import SW8, answers
from instrument.trees import trees
from record.recorded import Recorder, recording
from swagent import current_trace_id
from swagent.asgi import SkyWalkingMiddleware
from swagent.instrument import State, instrument, report, uninstrument
from swagent.instrument.libraries.servers.tornado import template_of
from swagent.startup.interpreter_options import read_command
from swagent.wsgi import SkyWalkingMiddleware as WsgiMiddleware
from wsgi.calling import ask, environ_of

INSTRUMENTED = ("flask", "http_server", "uvicorn", "wsgiref")


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    with recording() as fresh:
        yield fresh


@pytest.fixture(autouse=True)
def instrumented() -> Iterator[None]:
    instrument(*INSTRUMENTED)
    try:
        assert {each.state for each in report() if each.name in INSTRUMENTED} == {State.ACTIVE}
        yield
    finally:
        uninstrument(*INSTRUMENTED)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == "/broken":
            raise LookupError("nothing there")
        body = current_trace_id().encode()
        self.send_response(404 if self.path.startswith("/missing") else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


class Server(ThreadingHTTPServer):
    # its end waits for the threads of its requests
    daemon_threads = False

    def handle_error(self, *_: object) -> None:
        pass


@contextmanager
def running(server: Any) -> Iterator[Callable[..., str]]:
    """A server in a thread; a function that asks it, on one connection."""
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=30)

    def get(path: str, **headers: str) -> str:
        connection.request("GET", path, headers={"Host": "shop.test", **headers})
        return connection.getresponse().read().decode()

    try:
        yield get
    finally:
        connection.close()
        server.shutdown()
        thread.join()
        server.server_close()


def without_peers(recorder: Recorder) -> list[str]:
    """The trees' lines, of which no two runs have the same peers."""
    for segment in recorder.segments:
        for span in segment.spans:
            assert span.peer.startswith("127.0.0.1:")
            span.peer = ""
    return trees(recorder).splitlines()


def test_each_request_on_a_connection_of_http_server_is_an_entry_span(recorder: Recorder) -> None:
    with running(Server(("127.0.0.1", 0), Handler)) as get:
        assert get("/items?secret=1", sw8=SW8.decode()) == "trace-1"
        assert get("/missing") not in ("", "trace-1")
        with suppress(http.client.HTTPException, ConnectionError):
            get("/broken")
    assert without_peers(recorder) == [
        "Entry GET:/items PYTHON/HTTP http.method=GET http.url=http://shop.test/items http.status_code=200",
        "Entry GET:/missing PYTHON/HTTP http.method=GET http.url=http://shop.test/missing http.status_code=404",
        "Entry GET:/broken PYTHON/HTTP http.method=GET http.url=http://shop.test/broken FAILED",
    ]


def test_wsgirefs_server_wraps_its_application_and_is_no_server_of_handlers(recorder: Recorder) -> None:
    def app(environ: Any, start_response: Any) -> list[bytes]:
        start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "2")])
        return [b"ok"]

    class Quiet(wsgiref.simple_server.WSGIRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    server = wsgiref.simple_server.make_server("127.0.0.1", 0, app, handler_class=Quiet)
    with running(server) as get:
        assert get("/items") == "ok"
    [span] = recorder.only.spans
    assert (span.name, span.kind.name) == ("GET:/items", "ENTRY")


def test_flasks_applications_record_whoever_serves_them_and_once(recorder: Recorder) -> None:
    app = flask.Flask("shop")
    app.add_url_rule("/items/<id>", view_func=lambda id: current_trace_id())  # noqa: A006
    assert ask(app, environ_of("/items/7")).body.decode() == recorder.only.trace_id
    ask(WsgiMiddleware(app), environ_of("/items/8"))
    assert recorder.names == [["GET:/items/<id>"], ["GET:/items/<id>"]]


@pytest.mark.parametrize("wraps", [False, True], ids=["bare", "with a middleware"])
def test_uvicorn_puts_one_middleware_around_the_application(wraps: bool) -> None:
    app = SkyWalkingMiddleware(answers()) if wraps else answers()
    config = uvicorn.Config(app, interface="asgi3", proxy_headers=False)
    config.load()
    loaded = config.loaded_app
    assert isinstance(loaded, SkyWalkingMiddleware)
    assert not isinstance(loaded.app, SkyWalkingMiddleware)
    assert (loaded is app) is wraps


@pytest.mark.filterwarnings("ignore:Uvicorn's native WSGI implementation is deprecated")
def test_uvicorn_wraps_a_wsgi_application_inside_of_its_thread() -> None:
    config = uvicorn.Config(lambda *_: [], interface="wsgi", proxy_headers=False)
    config.load()
    assert not isinstance(config.loaded_app, SkyWalkingMiddleware)
    assert isinstance(config.loaded_app.app, WsgiMiddleware)


def test_all_is_as_it_was_without_them() -> None:
    hooked = (flask.Flask.__call__, uvicorn.Config.load, BaseHTTPRequestHandler.parse_request)
    uninstrument(*INSTRUMENTED)
    try:
        plain = (flask.Flask.__call__, uvicorn.Config.load, BaseHTTPRequestHandler.parse_request)
        assert [getattr(each, "__wrapped__", None) for each in hooked] == list(plain)
        assert not hasattr(flask.Flask.__call__, "__wrapped__")
    finally:
        instrument(*INSTRUMENTED)


def test_a_framework_that_is_switched_off_is_not_recorded_by_its_server_either(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SW_AGENT_DISABLE_PLUGINS", "sw_fla.*")
    instrument(*INSTRUMENTED)
    app = flask.Flask("shop")
    server = wsgiref.simple_server.make_server("127.0.0.1", 0, app)
    server.server_close()
    assert server.get_app() is app
    ask(app, environ_of("/items/7"))
    assert recorder.segments == []


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("python /srv/bin/gunicorn app:app", "gunicorn"),
        ("python -m gunicorn.app.wsgiapp", "gunicorn"),
        ("python -X dev -W ignore -u manage.py runserver", "manage"),
        ("python -muvicorn app:app", "uvicorn"),
        (r"python C:\bin\flask.exe run", "flask"),
        ("python -c pass gunicorn", ""),
        ("python - gunicorn", ""),
        ("python -uc pass gunicorn", ""),
        ("python -IBm flask run", "flask"),
        ("python -W gunicorn app.py", "app"),
        ("python -BX dev --check-hash-based-pycs never manage.py runserver", "manage"),
        ("python -- gunicorn app:app", "gunicorn"),
        ("python", ""),
    ],
)
def test_the_program_of_a_command(command: str, program: str) -> None:
    assert read_command(command.replace("\\", "/").split()).program == program


@pytest.mark.parametrize(
    ("pattern", "template"),
    [
        (r"/items/([0-9]+)$", "/items/{}"),
        (r"^/items/(?P<number>[0-9]+)/parts/(\w+)", "/items/{number}/parts/{}"),
        (r"/a\.txt", "/a.txt"),
        ("/", "/"),
    ],
)
def test_tornados_patterns_are_templates(pattern: str, template: str) -> None:
    assert template_of(re.compile(pattern)) == template
