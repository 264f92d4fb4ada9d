"""Servers with several workers under `swagent run`: one instance a worker, one entry span a request, none twice."""

from __future__ import annotations

import os
import signal

import pytest

from servers.serving import answered_by, entries, served, wait_for
from swagent.collector.server import Collector

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")]

GUNICORN = "-m gunicorn --bind 127.0.0.1:{port} --no-control-socket --workers"
# A worker that does not answer its parent in time is killed, and uvicorn's 5 s are too little for one that starts.
UVICORN = "-m uvicorn --port {port} --timeout-worker-healthcheck 20 --workers 2"
# The time of the end on a busy machine. Where it waits for one of the agent's deadlines to pass, it takes longer.
LIMIT = 20.0


@pytest.mark.parametrize(
    ("command", "app"),
    [
        (f"{GUNICORN} 2", "raw"),
        (f"{GUNICORN} 2 --preload", "raw"),
        (f"{GUNICORN} 2 -k gthread --threads 4", "raw"),
        (f"{GUNICORN} 2 -k gevent", "raw"),
        (f"{GUNICORN} 2 -k gevent --preload", "raw"),
        (f"{GUNICORN} 2 -k uvicorn_worker.UvicornWorker", "asgi"),
        (f"{GUNICORN} 2 -k uvicorn_worker.UvicornWorker --preload", "asgi"),
        (UVICORN, "asgi"),
        ("-m hypercorn --bind 127.0.0.1:{port} --workers 2", "asgi"),
        ("-m granian --port {port} --interface asgi --workers 2", "asgi"),
        ("-m granian --port {port} --interface wsgi --workers 2", "raw"),
        ("-m granian --port {port} --interface rsgi --workers 2", "rsgi"),
    ],
    ids=lambda each: each.replace("-m ", "").replace(" --bind 127.0.0.1:{port}", "").replace(" --port {port}", ""),
)
def test_each_worker_is_an_instance(collector: Collector, command: str, app: str) -> None:
    if "gevent" in command:
        pytest.importorskip("gevent")
    if "granian" in command:
        pytest.importorskip("granian")
    with served(collector, f"{command} servers.applications:{app}".split()) as server:
        answers = server.ask_all(2)
        # hypercorn kills its other workers as soon as one of them has come to its end
        wait_for(lambda: len(entries(collector)) == answers.total() or "hypercorn" not in command)
    assert "gunicorn" not in command or (server.status == 0 and server.seconds < LIMIT)
    assert answered_by(collector) == answers
    assert len(collector.store.instances) == 2
    assert server.output.count("service 'shop' reports to ") == 1, "once a command, and not once a worker"
    assert {each.spans[0].operation for each in entries(collector)} == {
        "GET:/items/{id}" if app == "asgi" else "GET:/items/7"
    }
    if app == "asgi":
        assert server.output.count("the agent lives in the lifespan") == 2


@pytest.mark.parametrize("command", [f"{GUNICORN} 2", f"{UVICORN} --interface wsgi"])
def test_control_c_ends_all_of_them(collector: Collector, command: str) -> None:
    with served(
        collector, f"{command} servers.applications:raw".split(), end=signal.SIGINT, group=True
    ) as server:  # fmt: skip
        answers = server.ask_all(2)
        # gunicorn says as an error that it is interrupted in a request, and the client has its answer a little earlier
        wait_for(lambda: len(entries(collector)) == answers.total())
    assert answered_by(collector) == answers


@pytest.mark.parametrize("backend", ["asyncio", "uvloop", "trio"])
def test_under_gevent_the_agent_has_a_thread_of_the_system(collector: Collector, backend: str) -> None:
    pytest.importorskip("gevent")
    command = f"{GUNICORN} 1 -k gevent servers.applications:raw"
    with served(collector, command.split(), SW_AGENT_BACKEND=backend) as server:
        answers = server.ask_many(50)
    assert answered_by(collector) == answers
    assert server.seconds < LIMIT
