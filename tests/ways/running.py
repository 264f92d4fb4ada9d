"""One run of a way in fresh processes, in a folder, a home and a place for temporary files of its own."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import socket
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import IO

from kit.real.ports import HOST, free_ports
from swagent import cli
from swagent.record.trace.carrier import format_sw8
from swagent.testing import RunningCollector
from ways.observed import Observed, files_of, is_settled, kill, marked, processes_left
from ways.rows import Row

PROGRAMS = Path(__file__).parent / "programs"
PATIENCE = 300.0
_BOOTSTRAP = Path(cli.__file__).parent / "bootstrap"
_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"


class StuckError(Exception):
    """A run does not get further; the text says where, and what it has written."""


@dataclass(frozen=True)
class Place:
    """Where a row runs.

    :ivar folder: below which each run gets folders of its own
    :ivar programs: the folder of the environment's programs: `python`, `swagent` and all others
    :ivar redis: `host:port` of a Redis, empty where there is none
    :ivar sources: the applications, which each run gets a copy of
    """

    folder: Path
    programs: Path
    redis: str = ""
    sources: Path = PROGRAMS


@dataclass
class _Running:
    process: subprocess.Popen[str]
    output: list[str] = field(default_factory=list[str])
    error: list[str] = field(default_factory=list[str])
    readers: list[threading.Thread] = field(default_factory=list[threading.Thread])

    @property
    def text(self) -> str:
        return "".join([*self.output, *self.error])


def run(row: Row, place: Place, arrived: RunningCollector | None, trace_id: str = "") -> Observed:
    """Run a row once.

    :param arrived: the collector of the run with the agent; none: the bare one
    :param trace_id: that of the requests
    :raises StuckError: when it does not get ready, or does not end
    """
    folder = place.folder / ("bare" if arrived is None else "agent")
    shutil.rmtree(folder, ignore_errors=True)
    for each in ("home", "tmp"):
        (folder / each).mkdir(parents=True)
    shutil.copytree(place.sources, folder / "work", ignore=shutil.ignore_patterns("__pycache__"))
    token, (port,) = uuid.uuid4().hex, free_ports(1)
    values = {
        "{port}": str(port), "{redis}": f"redis://{place.redis}/0",
        "{bin}": str(place.programs), "{bootstrap}": str(_BOOTSTRAP), "{folder}": str(folder / "work"),
    }  # fmt: skip
    environ = _environment(row, place, folder, values, arrived) | marked(token)
    if place.redis:
        _empty(place.redis)
    before = {*files_of(folder)}
    observed = Observed()
    with _started(_command(row.run, row.agent, values, arrived), folder / "work", environ, row.input) as running:
        began = time.monotonic()
        try:
            _act(row, running, port, observed, trace_id)
            if row.beside:
                command = _command(row.beside, "", values, arrived)
                observed.beside = _run_beside(command, folder / "work", environ)
            _wait(lambda: row.done in running.text, running, f"wait for {row.done!r}")
            if row.settled and arrived is not None:
                with suppress(TimeoutError):
                    arrived.wait(lambda arrived: is_settled(row, arrived), 10.0)
            began = _end(row, running) or began
            observed.status = running.process.wait(PATIENCE)
        except (subprocess.TimeoutExpired, OSError, HTTPException) as error:
            raise StuckError(f"{error!r}\n{running.text[-2000:]}") from error
        finally:
            observed.seconds = time.monotonic() - began
            left = processes_left(token, running.process.pid)
            kill([*left])
    observed.processes = sorted(_without(each, values) for each in left.values())
    observed.files = sorted({*files_of(folder)} - before)
    places = {str(folder): "FOLDER", **({str(port): "PORT"} if row.get else {})}
    observed.output, observed.error, observed.beside = (
        _replaced(each, places) for each in ("".join(running.output), "".join(running.error), observed.beside)
    )
    return observed


def _empty(redis: str) -> None:
    host, _, port = redis.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
        connection.sendall(b"FLUSHALL\r\n")
        assert connection.recv(100) == b"+OK\r\n"


def _command(bare: str, agent: str, values: Mapping[str, str], arrived: RunningCollector | None) -> list[str]:
    text = bare if arrived is None else agent or f"swagent run -- {bare}"
    return [_replaced(each, values) for each in shlex.split(text)]


def _environment(
    row: Row, place: Place, folder: Path, values: Mapping[str, str], arrived: RunningCollector | None
) -> dict[str, str]:
    environ = {
        "PATH": f"{place.programs}:{_PATH}", "HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp"),
        "LANG": "C.UTF-8", "PYTHONUNBUFFERED": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", **row.environ,
    }  # fmt: skip
    if arrived is not None:
        environ |= {"SW_AGENT_NAME": "shop", **arrived.environ, **row.agent_environ}
    return {name: _replaced(value, values) for name, value in environ.items()}


def _act(row: Row, running: _Running, port: int, observed: Observed, trace_id: str) -> None:
    _wait(lambda: row.ready in running.text, running, f"wait for {row.ready!r}")
    if not row.get:
        return
    _wait(lambda: _is_listening(port), running, "wait for its port")
    with ThreadPoolExecutor(4) as pool:
        asking = [pool.submit(_ask, port, row.get, trace_id, number) for number in range(row.times)]
    observed.answers = sorted(each.result() for each in asking)


def _ask(port: int, path: str, trace_id: str, number: int) -> str:
    sw8 = format_sw8((True, trace_id, f"{trace_id}.{number}", 0, "caller", "one", "/start", f"{HOST}:{port}"))
    with closing(HTTPConnection(HOST, port, timeout=PATIENCE)) as connection:
        try:
            connection.request("GET", path, headers={"sw8": sw8})
            answer = connection.getresponse()
            return f"{answer.status} {answer.read().decode()}"
        except (OSError, HTTPException) as error:
            return repr(error)


def _is_listening(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((HOST, port)) == 0


def _wait(condition: Callable[[], bool], running: _Running, step: str) -> None:
    """Wait for what another process does, which has no event to wait for."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline or running.process.poll() is not None:
            for each in running.readers if running.process.poll() is not None else ():
                each.join(PATIENCE)
            if condition():
                return
            raise StuckError(f"{step}: exit code {running.process.poll()}\n{running.text[-2000:]}")
        time.sleep(0.02)


def _end(row: Row, running: _Running) -> float:
    if not row.end:
        return 0.0
    began, number = time.monotonic(), getattr(signal, row.end)
    if row.to_group:
        os.killpg(running.process.pid, number)
    else:
        running.process.send_signal(number)
    return began


def _run_beside(command: list[str], folder: Path, environ: Mapping[str, str]) -> str:
    done = subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL,
        check=False,
    )  # fmt: skip
    return f"{done.stdout}{done.stderr}exit code {done.returncode}\n"


@contextmanager
def _started(command: list[str], folder: Path, environ: Mapping[str, str], text: str) -> Iterator[_Running]:
    # as a shell does: by the path of the command's own environment
    program = shutil.which(command[0], path=environ["PATH"]) or command[0]
    process = subprocess.Popen(
        command, executable=program, cwd=folder, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True,
    )  # fmt: skip
    running = _Running(process)
    running.readers = [
        threading.Thread(target=_read, args=(stream, into))
        for stream, into in ((process.stdout, running.output), (process.stderr, running.error))
    ]
    for each in running.readers:
        each.start()
    try:
        assert process.stdin is not None
        with suppress(BrokenPipeError):
            process.stdin.write(text)
            process.stdin.close()
        yield running
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for each in running.readers:
            each.join(PATIENCE)


def _read(stream: IO[str] | None, into: list[str]) -> None:
    assert stream is not None
    with stream:
        into.extend(stream)


def _replaced(text: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(name, value)
    return text


def _without(command: str, values: Mapping[str, str]) -> str:
    return _replaced(command, {value: name for name, value in values.items() if value}).strip()
