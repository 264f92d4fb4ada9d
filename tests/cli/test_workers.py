"""Processes that come of one under `swagent run`: each of them reports, once, as an instance of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from servers.serving import Served, answered_by, served
from swagent.collector.server import Collector

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")

WORKERS = 4
GUNICORN = "-m gunicorn --bind 127.0.0.1:{port} --no-control-socket --workers"
PATIENCE = 40.0

FIVE = {f"child {number}": 1 for number in range(5)}

WSGI = """
import logging, os, swagent

def logs(environ, start_response):
    logging.getLogger("shop").warning("served by %d", os.getpid())
    start_response("200 OK", [])
    return [str(os.getpid()).encode()]

def traces(environ, start_response):
    start_response("200 OK", [])
    return [str(os.getpid()).encode()]
"""

ASGI = """
import os, swagent
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from swagent.asgi import SkyWalkingMiddleware

async def item(request):
    return PlainTextResponse(str(os.getpid()))

app = SkyWalkingMiddleware(Starlette(routes=[Route("/items/{id}", item)]))
"""

CHILDREN = """
import logging, os, sys, multiprocessing, swagent
from concurrent.futures import ProcessPoolExecutor

def work(number):
    with swagent.local_span(f"child {number}"):
        logging.getLogger("shop").warning("child %d", number)

def log(number):
    logging.getLogger("shop").warning("child %d", number)

def own(number):
    swagent.start()
    work(number)

class Early:
    # starts the agent where it is unpickled, which is before multiprocessing has made the child ready

    def __init__(self, number):
        self.number = number

    def __reduce__(self):
        return begin, (self.number,)

def begin(number):
    swagent.start()
    return number

def fork(number):
    if not os.fork():
        work(number)
        sys.exit(0)
    assert os.wait()[1] == 0

if __name__ == "__main__":
    way, body = sys.argv[1:]
    if way == "os.fork":
        for number in range(5):
            fork(number)
    elif way == "pool":
        with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
            list(pool.map(work, range(5)))
    else:
        context = multiprocessing.get_context(way)
        wrap = Early if body == "early" else int
        target = work if body == "early" else globals()[body]
        children = [context.Process(target=target, args=(wrap(number),)) for number in range(5)]
        for child in children:
            child.start()
        for child in children:
            child.join()
        assert [child.exitcode for child in children] == [0] * 5
"""


def environment(collector: Collector) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("SW_")}
    return {
        **clean,
        "SW_AGENT_NAME": "shop",
        "SW_AGENT_AUTHENTICATION": "sesame",
        "SW_AGENT_COLLECTOR_BACKEND_SERVICES": collector.address,
        "PYTHONWARNINGS": "ignore",
    }


def serve(collector: Collector, folder: Path, app: str, command: str) -> AbstractContextManager[Served]:
    """A server of an application in this folder."""
    (folder / "served_app.py").write_text(app)
    return served(collector, command.split(), folder=folder, SW_AGENT_AUTHENTICATION="sesame", PYTHONPATH=str(folder))


@pytest.mark.parametrize("options", ["", "--preload"], ids=["imported in the worker", "preloaded"])
def test_gunicorns_workers_report_each_log_record_once(collector: Collector, tmp_path: Path, options: str) -> None:
    with serve(collector, tmp_path, WSGI, f"{GUNICORN} {WORKERS} {options} served_app:logs") as server:
        answers = server.ask_all(WORKERS)
    lines = [each for each in collector.store.logs if "served by" in each.content]
    of = {each.instance: dict(each.properties)["Process No."] for each in collector.store.instances}
    assert Counter(of[each.instance] for each in lines) == answers
    assert len({each.instance for each in lines}) == WORKERS


@pytest.mark.parametrize(
    ("app", "command"),
    [
        (WSGI, f"{GUNICORN} 2 served_app:traces"),
        # it kills a worker that is silent for longer
        (ASGI, f"-m uvicorn --workers 2 --port {{port}} --timeout-worker-healthcheck {PATIENCE:.0f} served_app:app"),
        (ASGI, f"{GUNICORN} 2 -k uvicorn_worker.UvicornWorker served_app:app"),
    ],
    ids=["gunicorn", "uvicorn with a middleware", "gunicorn with a middleware"],
)
def test_workers_have_one_agent_each_and_report_each_request_once(
    collector: Collector, tmp_path: Path, app: str, command: str
) -> None:
    with serve(collector, tmp_path, app, command) as server:
        answers = server.ask_all(2)
    assert answered_by(collector) == answers
    # the workers, and neither who started them nor what Python runs beside them
    assert len(collector.store.instances) == 2


@pytest.mark.parametrize(
    ("way", "body", "instances"),
    [
        ("fork", "work", 5),
        ("fork", "log", 5),
        ("spawn", "work", 5),
        ("forkserver", "work", 5),
        ("forkserver", "log", 5),
        ("os.fork", "work", 5),
        ("pool", "work", 1),
    ],
)
def test_short_children_report_all_that_they_recorded(
    collector: Collector, tmp_path: Path, way: str, body: str, instances: int
) -> None:
    run_children(collector, tmp_path, "-m", "swagent", "run", "--", sys.executable, "{script}", way, body)
    spans, lines = recorded(collector)
    assert lines == FIVE
    assert spans == (FIVE if body == "work" else {})
    assert len({each.instance for each in collector.store.logs}) == instances
    # and none of the script's, which has recorded nothing
    assert len(collector.store.instances) == instances


@pytest.mark.parametrize(
    ("way", "body"), [("fork", "own"), ("spawn", "own"), ("forkserver", "own"), ("forkserver", "early")]
)
def test_children_that_start_an_agent_and_stop_none_flush_at_their_end(
    collector: Collector, tmp_path: Path, way: str, body: str
) -> None:
    run_children(collector, tmp_path, "{script}", way, body)
    assert recorded(collector) == (FIVE, FIVE)
    assert len(collector.store.instances) == 5


def run_children(collector: Collector, folder: Path, *command: str) -> None:
    """Run the script with its five children to the end."""
    script = folder / "children.py"
    script.write_text(CHILDREN)
    done = subprocess.run(
        [sys.executable, *(each.format(script=script) for each in command)],
        env=environment(collector), cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr


def recorded(collector: Collector) -> tuple[Counter[str], Counter[str]]:
    """How often each span and each log line came."""
    spans = Counter(span.operation for segment in collector.store.segments for span in segment.spans)
    return spans, Counter(each.content.rpartition(" - ")[2] for each in collector.store.logs)
