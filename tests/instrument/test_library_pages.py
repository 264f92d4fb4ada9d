"""The examples of docs/libraries/ run against servers of the tests, and record the spans that the pages show.

`make libraries` writes the trees of spans into the pages.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from instrument import library_pages, lost
from record.recorded import recording
from swagent import Config
from swagent.instrument import State, instrument, report, uninstrument
from swagent.testing import collector, outline

from .example_servers import serving
from .trees import trees

PAGES = sorted(library_pages.FOLDER.glob("*.md"))
# Its spans are recorded in several processes, so it has a test of its own.
PROCESSES = "multiprocessing"
# No server is here.
COMPILED_ONLY = {"pulsar"}
# The library below, which records the calls of the one above.
BELOW = {"aio-pika": "aiormq", "aiosqlite": "sqlite3"}
REAL = [pytest.mark.e2e, pytest.mark.timeout(600)]
# The ports in the examples: of a fixture's server that is there for the whole session.
FIXTURES = {"3306": "mariadb", "5432": "postgres", "5672": "rabbitmq", "6379": "redis_server", "9092": "kafka"}
_PORT = re.compile(r"(?<=[:=])\d{4,5}\b")


def _parameters() -> Iterator[Any]:
    for page in PAGES:
        for library, code, tree in library_pages.examples(page):
            if library not in {PROCESSES, *COMPILED_ONLY}:
                marks = REAL if FIXTURES.keys() & {*_PORT.findall(code)} else []
                yield pytest.param(page, library, code, tree, id=library, marks=marks)


def _port_of(library: str, shown: str, request: pytest.FixtureRequest, stack: ExitStack) -> int:
    """The port of a server that runs, for the one that an example shows."""
    if shown in FIXTURES:
        address: str = request.getfixturevalue(FIXTURES[shown]).address
        return int(address.rpartition(":")[2])
    return stack.enter_context(serving(library))


@contextmanager
def _switched_on(library: str) -> Iterator[None]:
    names = {library, BELOW.get(library, library)}
    # the examples are scripts without a span around their calls
    instrument(*names, config=Config(trace_calls_outside_requests=True))
    try:
        yield
        states = {each.name: each.state for each in report()}
        assert {states[name] for name in names} == {State.ACTIVE}
    finally:
        uninstrument(*names)


@pytest.mark.parametrize(("page", "library", "code", "tree"), [*_parameters()])
def test_an_example_records_the_spans_that_its_page_shows(
    page: Path,
    library: str,
    code: str,
    tree: str,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = re.search(r"^(?:import|from) (?!asyncio)([\w.]+)", code, re.MULTILINE)
    assert module is not None
    pytest.importorskip(module[1])
    if library == "celery":
        _keep_celery_apart(monkeypatch)
    with ExitStack() as stack:
        ports = {shown: str(_port_of(library, shown, request, stack)) for shown in {*_PORT.findall(code)}}
        for shown, port in ports.items():
            code = re.sub(rf"(?<=[:=]){shown}\b", port, code)
        with recording() as recorder, _switched_on(library):
            exec(compile(code, f"{page}: {library}", "exec"), {"__name__": "__main__"})
        recorded = trees(recorder)
    for shown, port in ports.items():
        recorded = re.sub(rf"\b{port}\b", shown, recorded)
    compare(page, library, recorded, tree)


def _keep_celery_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """An application of celery's is the current one of its process, its tasks are those of all later ones, and what it
    sends stays in memory."""
    state = pytest.importorskip("celery._state")
    monkeypatch.setattr(state, "_on_app_finalizers", {*state._on_app_finalizers})
    monkeypatch.setattr(state, "default_app", state.default_app)
    monkeypatch.setattr(state._tls, "current_app", state._tls.current_app)
    monkeypatch.setattr(pytest.importorskip("kombu.transport.memory").Channel, "queues", {})


def compare(page: Path, library: str, recorded: str, tree: str) -> None:
    """Fail where the page shows another tree of spans, or write the tree into the page."""
    assert recorded
    if lost.mode() == "write":
        page.write_text(library_pages.with_tree(page.read_text("utf-8"), library, recorded), "utf-8")
    else:
        assert recorded == tree.rstrip("\n")


@pytest.mark.gate
def test_a_job_in_another_process_records_the_spans_that_the_page_shows(tmp_path: Path) -> None:
    pytest.importorskip("grpclib")
    page = library_pages.FOLDER / "processes.md"
    [(library, code, tree)] = library_pages.examples(page)
    assert library == PROCESSES
    script = tmp_path / "prices.py"
    script.write_text(code, "utf-8")
    command = [sys.executable, "-m", "swagent", "run", "--", sys.executable, str(script)]
    with collector() as arrived:
        environ = {**os.environ, **arrived.environ, "SW_AGENT_NAME": "shop"}
        done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=50, check=False)
        assert done.stdout == "289\n", done.stderr
        arrived.wait(lambda found: len(found.spans) == 2)
        recorded = outline(arrived.segments)
    compare(page, library, recorded, tree)
