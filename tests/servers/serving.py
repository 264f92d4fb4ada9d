"""Real servers under `swagent run`, each with an application that knows nothing of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from kit.real.ports import free_ports
from swagent.collector.server import Collector
from swagent.collector.store.trace_records import Segment

TESTS = Path(__file__).parents[1]
PATIENCE = 30.0
# Far away, so that a server which waits for one of them to pass differs from one on a busy machine.
DEADLINES = {"SW_AGENT_SHUTDOWN_TIMEOUT": "30", "SW_AGENT_REQUEST_TIMEOUT": "30"}


@dataclass
class Served:
    """A server that runs.

    :ivar said: its output so far
    :ivar seconds: how long its end took; 0 until it has ended
    :ivar status: how it ended
    """

    port: int
    process: subprocess.Popen[str]
    said: list[str] = field(default_factory=list[str])
    seconds: float = 0.0
    status: int | None = None

    def ask(self, path: str = "/items/7") -> str:
        """One request, repeated until the server takes connections; what it answered."""
        deadline = time.monotonic() + PATIENCE
        while True:
            connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
            try:
                connection.request("GET", path)
                return connection.getresponse().read().decode()
            except (OSError, HTTPException):
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise AssertionError(self.output) from None
                time.sleep(0.05)
            finally:
                connection.close()

    def ask_once(self, path: str) -> None:
        """One request, which may get no answer."""
        with (
            suppress(HTTPException, OSError),
            closing(HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)) as connection,
        ):
            connection.request("GET", path)
            connection.getresponse().read()

    def ask_many(self, count: int, at_once: int = 8) -> Counter[str]:
        """So many requests; how many each process answered."""
        with ThreadPoolExecutor(at_once) as pool:
            return Counter(pool.map(lambda _: self.ask(), range(count)))

    def ask_all(self, workers: int) -> Counter[str]:
        """Ask until so many processes have answered; how often each did."""
        answers: Counter[str] = Counter()
        deadline = time.monotonic() + PATIENCE
        while len(answers) < workers and time.monotonic() < deadline:
            with ThreadPoolExecutor(8) as pool:
                answers.update(pool.map(lambda _: self.ask(), range(16)))
        assert len(answers) == workers, f"{answers}\n{self.output}"
        return answers

    @property
    def output(self) -> str:
        return "".join(self.said)


def environment(collector: Collector, **others: str) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("SW_")}
    return {
        **own, "PYTHONPATH": str(TESTS), "PYTHONWARNINGS": "ignore", "SW_AGENT_NAME": "shop",
        "SW_AGENT_COLLECTOR_BACKEND_SERVICES": collector.address, **DEADLINES, **others,
    }  # fmt: skip


@contextmanager
def served(
    collector: Collector,
    command: Sequence[str],
    *,
    folder: Path = TESTS,
    end: signal.Signals = signal.SIGTERM,
    group: bool = False,
    alone: bool = False,
    tracebacks: bool = False,
    **environ: str,
) -> Iterator[Served]:
    """A server for the length of a block; then it is asked to end, and does.

    :param command: what follows `python -m`, with `{port}` where it is wanted
    :param group: whether all its processes are asked, as a terminal does
    :param alone: whether it runs without `swagent run`
    :param tracebacks: whether the application fails on purpose
    """
    (port,) = free_ports(1)
    arguments = [each.format(port=port) for each in command]
    process = subprocess.Popen(
        [sys.executable, *(() if alone else ("-m", "swagent", "run", "--", sys.executable)), *arguments],
        env=environment(collector, **environ), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    )  # fmt: skip
    server = Served(port, process)

    def read() -> None:
        for line in process.stdout or ():
            server.said.append(line)

    reading = threading.Thread(target=read)
    reading.start()
    try:
        yield server
        began = time.monotonic()
        if group:
            os.killpg(process.pid, end)
        else:
            process.send_signal(end)
        server.status = process.wait(PATIENCE)
        server.seconds = time.monotonic() - began
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        reading.join()
        assert process.stdout is not None
        process.stdout.close()
        print(server.output)
    assert tracebacks or "Traceback" not in server.output


def entries(collector: Collector) -> list[Segment]:
    """The segments of the requests, each of which came once and is one entry span."""
    segments = [each for each in collector.store.segments if each.spans[0].kind == "Entry"]
    assert len({each.segment_id for each in segments}) == len(segments)
    assert all([span.kind for span in each.spans] == ["Entry"] for each in segments)
    return segments


def answered_by(collector: Collector) -> Counter[str]:
    """How many entry spans each process reported."""
    processes = {each.instance: dict(each.properties)["Process No."] for each in collector.store.instances}
    assert len(set(processes.values())) == len(processes), "two instances in one process"
    return Counter(processes[each.instance] for each in entries(collector))


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait for what another process does, which has no event to wait for."""
    deadline = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
