"""Processes that come of one under `swagent run`: each of them reports, once, as an instance of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from swagent.collector.server import Collector

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")

WORKERS = 4
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

app = SkyWalkingMiddleware(Starlette(routes=[Route("/", item)]))
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


@contextmanager
def served(command: list[str], folder: Path, collector: Collector) -> Iterator[str]:
    """A server under `swagent run`, on a socket of ours; its address."""
    with socket.create_server(("127.0.0.1", 0), backlog=200) as listening:
        listening.set_inheritable(True)
        number = listening.fileno()
        arguments = [each.format(fd=number) for each in command]
        with subprocess.Popen(
            [sys.executable, "-m", "swagent", "run", "--", sys.executable, "-m", *arguments],
            env=environment(collector), cwd=folder, pass_fds=[number], stderr=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            said: list[str] = []
            reading = threading.Thread(target=lambda: said.extend(process.stderr or ()))
            reading.start()
            try:
                yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
            finally:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(20)
                finally:
                    process.kill()
                    reading.join()
                    print("".join(said))
    assert "Traceback" not in "".join(said)


def ask_until(address: str, workers: int) -> Counter[str]:
    """Ask, many at once, until so many processes have answered; how often each did."""
    answers: Counter[str] = Counter()
    lock = threading.Lock()
    deadline = time.monotonic() + PATIENCE

    def ask() -> None:
        while len(answers) < workers and time.monotonic() < deadline:
            try:
                with urlopen(address, timeout=PATIENCE) as answer:
                    process = answer.read().decode()
            except (URLError, ConnectionError):
                continue
            with lock:
                answers[process] += 1

    threads = [threading.Thread(target=ask) for _ in range(2 * workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == workers, answers
    return answers


def processes(collector: Collector) -> dict[str, str]:
    """The process ids that instances reported."""
    return {each.instance: dict(each.properties)["Process No."] for each in collector.store.instances}


@pytest.mark.parametrize("options", [[], ["--preload"]], ids=["imported in the worker", "preloaded"])
def test_gunicorns_workers_report_each_log_record_once(
    collector: Collector, tmp_path: Path, options: list[str]
) -> None:
    (tmp_path / "served_app.py").write_text(WSGI)
    command = ["gunicorn", "--workers", str(WORKERS), *options, "--bind", "fd://{fd}", "--no-control-socket"]
    with served([*command, "served_app:logs"], tmp_path, collector) as address:
        answers = ask_until(address, WORKERS)
    lines = [each for each in collector.store.logs if "served by" in each.content]
    of = processes(collector)
    assert Counter(of[each.instance] for each in lines) == answers
    assert len({each.instance for each in lines}) == WORKERS


def test_gunicorns_workers_report_each_entry_span_once(collector: Collector, tmp_path: Path) -> None:
    (tmp_path / "served_app.py").write_text(WSGI)
    command = ["gunicorn", "--workers", str(WORKERS), "--bind", "fd://{fd}", "--no-control-socket"]
    with served([*command, "served_app:traces"], tmp_path, collector) as address:
        answers = ask_until(address, WORKERS)
    assert traced_by(collector) == answers


@pytest.mark.parametrize(
    "command",
    [
        # it kills a worker that is silent for longer
        f"uvicorn --workers 2 --fd {{fd}} --timeout-worker-healthcheck {PATIENCE:.0f}",
        "gunicorn --workers 2 --bind fd://{fd} --no-control-socket -k uvicorn_worker.UvicornWorker",
    ],
    ids=["uvicorn", "gunicorn"],
)
def test_workers_with_a_middleware_have_one_agent_each(collector: Collector, tmp_path: Path, command: str) -> None:
    (tmp_path / "served_app.py").write_text(ASGI)
    with served([*command.split(), "served_app:app"], tmp_path, collector) as address:
        answers = ask_until(address, 2)
    assert traced_by(collector) == answers
    found = Counter(processes(collector).values())
    assert set(found.values()) == {1}, "two instances in one process"
    # the workers, and neither who started them nor what Python runs beside them
    assert len(found) == 2


def traced_by(collector: Collector) -> Counter[str]:
    """How many entry spans each process reported, each of which came once."""
    segments = collector.store.segments
    assert len({each.segment_id for each in segments}) == len(segments)
    assert all([span.kind for span in each.spans] == ["Entry"] for each in segments)
    of = processes(collector)
    return Counter(of[each.instance] for each in segments)


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
