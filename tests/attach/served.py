"""Applications that serve before the agent is attached, and the processes in which they do."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from kit.real.ports import HOST, free_ports
from swagent.record.trace.carrier import format_sw8

_PATIENCE = 60.0
# Where Python has no `remote_exec`, a signal is used in its place; and what the agent has left in modules and classes.
_COMMON = """
import os, signal, sys, types

if not hasattr(sys, "remote_exec"):
    def run_script(*_):
        with open({script!r}) as file:
            exec(open(file.read()).read(), vars(sys.modules["__main__"]))
    signal.signal(signal.SIGUSR1, run_script)

def is_ours(value):
    if isinstance(value, (staticmethod, classmethod)):
        value = value.__func__
    return isinstance(value, types.FunctionType) and {swagent!r} in value.__code__.co_filename

def left():
    found = []
    for name, module in [*sys.modules.items()]:
        if name.partition(".")[0].startswith("swagent"):
            continue
        for key, value in [*getattr(module, "__dict__", {{}}).items()]:
            if is_ours(value):
                found.append(f"{{name}}:{{key}}")
            if isinstance(value, type) and not str(value.__module__).startswith("swagent"):
                found += [f"{{name}}:{{key}}.{{each}}" for each, own in [*vars(value).items()] if is_ours(own)]
    finders = [each for each in sys.meta_path if "swagent" in type(each).__module__]
    # one that looks at nothing stays: another thread may be going through the list
    return sorted(found) + [type(each).__name__ for each in finders if not each.is_paused]
"""
_ASGI = """
import json, sqlite3
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from common import left

async def item(request):
    connection = sqlite3.connect(":memory:")
    connection.execute("SELECT 1").fetchone()
    connection.close()
    return PlainTextResponse("item")

async def look(request):
    return PlainTextResponse(json.dumps(left()))

app = Starlette(routes=[Route("/items/{id}", item), Route("/left", look)])
"""
_WSGI = """
import json, sqlite3, sys
from flask import Flask
from werkzeug.serving import run_simple
from common import left

app = Flask(__name__)

@app.get("/items/<int:id>")
def item(id):
    connection = sqlite3.connect(":memory:")
    connection.execute("SELECT 1").fetchone()
    connection.close()
    return "item"

@app.get("/left")
def look():
    return json.dumps(left())

if __name__ == "__main__":
    run_simple("127.0.0.1", int(sys.argv[1]), app, threaded=True)
"""
_UVICORN = "-m uvicorn --port {port} --log-level warning --timeout-keep-alive 60 asgi_app:app"
# a server that has done nothing for longer, such as in an import on a busy machine, closes what it takes for idle
COMMANDS = {
    "uvicorn, asyncio": f"{_UVICORN} --loop asyncio",
    "uvicorn, uvloop": f"{_UVICORN} --loop uvloop",
    "hypercorn, trio": "-m hypercorn -w 0 -k trio --keep-alive 60 -b 127.0.0.1:{port} asgi_app:app",
    "werkzeug": "wsgi_app.py {port}",
}


class Served:
    """A process that serves.

    :ivar script: the file from which it reads which script to run, where a signal is used in place of `remote_exec`
    """

    def __init__(self, process: subprocess.Popen[bytes], port: int, script: Path, log: Path) -> None:
        """:param log: what it has written on its standard error"""
        self.pid = process.pid
        self.process = process
        self.script = script
        self.port = port
        self._log = log

    def said(self) -> str:
        """What it has written so far, for the message of a test that fails."""
        return self._log.read_text()

    def get(self, path: str, trace_id: str = "") -> str:
        """The body of an answer, on a connection of its own.

        :param trace_id: of the caller
        """
        with closing(HTTPConnection(HOST, self.port, timeout=_PATIENCE)) as connection:
            return self.get_by(connection, path, trace_id)

    def get_by(self, connection: HTTPConnection, path: str, trace_id: str = "") -> str:
        """The same on a connection that stays open."""
        sw8 = format_sw8((True, trace_id, f"{trace_id}.1", 0, "caller", "one", "/start", "caller:80"))
        connection.request("GET", path, headers={"sw8": sw8} if trace_id else {})
        answer = connection.getresponse()
        body = answer.read().decode()
        assert answer.status == 200, body
        return body

    def left(self) -> list[str]:
        """What the agent has left in modules and classes of others."""
        found: list[str] = json.loads(self.get("/left"))
        return found

    @contextmanager
    def under_load(self) -> Iterator[list[str]]:
        """A block in which one client asks again and again, on a connection that stays open; what went wrong."""
        failures: list[str] = []
        is_over = threading.Event()
        began = time.monotonic()

        def ask() -> None:
            with closing(HTTPConnection(HOST, self.port, timeout=_PATIENCE)) as connection:
                while not is_over.is_set():
                    try:
                        self.get_by(connection, "/items/1")
                    except (OSError, HTTPException, AssertionError) as error:
                        failures.append(f"after {time.monotonic() - began:.3f} s: {error!r}")

        client = threading.Thread(target=ask)
        client.start()
        try:
            yield failures
        finally:
            is_over.set()
            client.join()


@contextmanager
def serving(kind: str, folder: Path, *options: str) -> Iterator[Served]:
    """A process that serves and knows nothing of the agent.

    :param kind: one of `COMMANDS`
    :param options: of the interpreter
    """
    import swagent  # noqa: PLC0415, RUF100  (its folder alone)

    (port,) = free_ports(1)
    script = folder / "script-to-run"
    own = str(Path(swagent.__file__).parent)
    (folder / "common.py").write_text(_COMMON.format(script=str(script), swagent=f"{own}/"))
    (folder / "asgi_app.py").write_text(_ASGI)
    (folder / "wsgi_app.py").write_text(_WSGI)
    command = [sys.executable, *options, *COMMANDS[kind].format(port=port).split()]
    log = folder / "stderr"
    with log.open("wb") as file:
        process = subprocess.Popen(command, cwd=folder, stderr=file)
    try:
        served = Served(process, port, script, log)
        _wait_until_it_answers(served)
        yield served
    finally:
        process.terminate()
        process.wait(_PATIENCE)


def _wait_until_it_answers(served: Served) -> None:
    # another process: there is no event to wait for
    pause = threading.Event()
    while True:
        try:
            served.get("/items/1")
        except (OSError, HTTPException):
            assert served.process.poll() is None, "it has ended"
            pause.wait(0.05)
        else:
            return
