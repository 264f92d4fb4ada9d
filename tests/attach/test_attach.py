"""`swagent attach` and `detach`, on processes that serve. Before Python 3.14 by a signal in place of `remote_exec`."""

from __future__ import annotations

import os
import signal
import sys
import uuid
from collections.abc import Callable
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from attach.served import COMMANDS, Served, serving
from kit.real.ports import HOST
from swagent import cli
from swagent.cli import remote_execution
from swagent.testing import RunningCollector, collector

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]
HAS_IT = hasattr(sys, "remote_exec")
needs_it = pytest.mark.skipif(not HAS_IT, reason="Python 3.14 or later has it")


@pytest.fixture
def reached(monkeypatch: pytest.MonkeyPatch) -> Callable[[Served], None]:
    """Lets a process be reached, if not by Python then by a signal."""

    def reach(served: Served) -> None:
        def by_signal(pid: int, script: str) -> None:
            # in one step: the process may be on its way to the former one
            new = served.script.with_suffix(".new")
            new.write_text(script)
            new.replace(served.script)
            os.kill(pid, signal.SIGUSR1)

        if not HAS_IT:
            monkeypatch.setattr(sys, "remote_exec", by_signal, raising=False)
            monkeypatch.setattr(remote_execution, "_NEEDED", sys.version_info[:2])

    return reach


def attach(served: Served, arrived: RunningCollector, monkeypatch: pytest.MonkeyPatch, *options: str) -> None:
    for name, value in {"SW_AGENT_NAME": "shop", **arrived.environ}.items():
        monkeypatch.setenv(name, value)
    assert cli.main(["attach", str(served.pid), *options]) == 0


def wait_for_trace(arrived: RunningCollector, trace_id: str) -> list[str]:
    """The operations of a trace, once its request and its query are there."""

    def spans() -> list[Any]:
        return [span for segment in arrived.segments if segment.trace_id == trace_id for span in segment.spans]

    arrived.wait(lambda _: len(spans()) > 1, 30.0)
    return sorted(span.operation for span in spans())


@pytest.mark.parametrize("kind", COMMANDS)
def test_a_process_that_serves_is_recorded_until_it_is_detached(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reached: Callable[[Served], None],
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    with serving(kind, tmp_path) as served, collector() as arrived:
        reached(served)
        assert served.left() == []
        with served.under_load() as failures:
            attach(served, arrived, monkeypatch)
            assert "service 'shop' reports to" in capsys.readouterr().out
            trace_id = uuid.uuid4().hex
            served.get("/items/7", trace_id)
            route = "GET:/items/<int:id>" if kind == "werkzeug" else "GET:/items/{id}"
            assert wait_for_trace(arrived, trace_id) == [route, "SQLite/sqlite3/execute"]
            assert cli.main(["attach", str(served.pid)]) == 1
            assert capsys.readouterr().err == "swagent attach: the agent is attached to this process already\n"
            assert served.left() != []
            assert cli.main(["detach", str(served.pid)]) == 0
            assert "0 were not" in capsys.readouterr().out
            count = len(arrived.segments)
            served.get("/items/7", uuid.uuid4().hex)
            assert served.left() == []
            assert cli.main(["detach", str(served.pid)]) == 1
            attach(served, arrived, monkeypatch)
            trace_id = uuid.uuid4().hex
            served.get("/items/7", trace_id)
            assert wait_for_trace(arrived, trace_id) == [route, "SQLite/sqlite3/execute"]
            assert len(arrived.segments) > count
        assert failures == [], served.said()


def test_a_connection_that_was_open_before_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reached: Callable[[Served], None]
) -> None:
    with serving("uvicorn, asyncio", tmp_path) as served, collector() as arrived:
        reached(served)
        with closing(HTTPConnection(HOST, served.port, timeout=60.0)) as connection:
            served.get_by(connection, "/items/1")
            attach(served, arrived, monkeypatch)
            trace_id = uuid.uuid4().hex
            served.get_by(connection, "/items/7", trace_id)
            assert wait_for_trace(arrived, trace_id) == ["GET:/items/{id}", "SQLite/sqlite3/execute"]


def test_it_is_detached_by_itself_after_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reached: Callable[[Served], None]
) -> None:
    with serving("uvicorn, asyncio", tmp_path) as served, collector() as arrived:
        reached(served)
        attach(served, arrived, monkeypatch, "--for", "1s")
        # the event of its end is the last record
        arrived.wait(lambda arrived: any(each.name == "Shutdown" for each in arrived.events), 60.0)
        assert cli.main(["detach", str(served.pid)]) == 1 or served.left() == []


def test_a_setting_that_cannot_be_used_is_named_and_nothing_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reached: Callable[[Served], None],
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    with serving("uvicorn, asyncio", tmp_path) as served:
        reached(served)
        monkeypatch.setenv("SW_AGENT_PROTOCOL", "pigeon")
        assert cli.main(["attach", str(served.pid)]) == 1
        assert "pigeon" in capsys.readouterr().err
        assert served.left() == []


@needs_it
@pytest.mark.parametrize("how", ["-X", "variable"])
def test_a_process_that_forbids_it_is_named(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if how == "variable":
        monkeypatch.setenv("PYTHON_DISABLE_REMOTE_DEBUG", "1")
    options = ("-X", "disable-remote-debug") if how == "-X" else ()
    with serving("uvicorn, asyncio", tmp_path, *options) as served:
        assert cli.main(["attach", str(served.pid)]) == 1
    said = "forbids it by PYTHON_DISABLE_REMOTE_DEBUG or -X disable-remote-debug\n"
    assert capsys.readouterr().err == f"swagent attach: process {served.pid} {said}"


@needs_it
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
def test_missing_rights_are_named(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    with serving("uvicorn, asyncio", tmp_path) as served:
        child = os.fork()
        if child == 0:
            try:
                os.setgid(65534)
                os.setuid(65534)
                remote_execution.have_done(served.pid, {"do": "attach", "settings": {}, "seconds": None})
            except BaseException as error:
                os.write(writer, str(error).encode())
            os._exit(0)
        os.waitpid(child, 0)
    os.close(writer)
    with os.fdopen(reader) as said:
        assert "does not let this user look into process" in said.read()
