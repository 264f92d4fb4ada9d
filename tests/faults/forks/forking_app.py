"""A program that forks while its other threads record and log, in every way that Python has; how that went, as JSON.

python forking_app.py BACKEND FORKS
"""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import anyio
import anyio.to_thread
from typing_extensions import Self

import swagent
from swagent import Agent, Config, local_span
from swagent.hosting.agent_thread import loop_of

log = logging.getLogger("shop")
RECORDS = 3
# Seconds that a child may take.
PATIENCE = 30
# A program that is started anew and counts the sockets of ours that it holds open.
INHERITED = "import os; print(sum('socket' in os.readlink(f'/proc/self/fd/{n}') for n in (0, 1, 2, 3, 4, 5, 6, 7, 8)\
 if os.path.exists(f'/proc/self/fd/{n}')))"


def record(count: int = RECORDS) -> None:
    for number in range(count):
        with local_span("work"):
            log.warning("working %d", number)


class Load:
    """Threads that record and log until asked to stop.

    :ivar count: how many spans they made
    """

    def __init__(self, threads: int) -> None:
        self.count = 0
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=self._work) for _ in range(threads)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        made = 0
        while not self._is_over.wait(0.005):
            record(1)
            made += 1
        with self._lock:
            self.count += made


def fork(body: Callable[[], None], *, ends_as_usual: bool = False) -> int:
    """Run a function in a forked child; returns its exit code, and that of SIGALRM when it hangs.

    :param ends_as_usual: let the interpreter end, with all that it does then
    """
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    signal.alarm(PATIENCE)
    try:
        body()
    except BaseException:
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
        os._exit(1)
    if ends_as_usual:
        sys.exit(0)
    os._exit(0)


def keep_still(agent: Agent) -> None:
    """The work of a child that has no agent of its own."""
    record()
    assert swagent.stop() is None
    for each in agent.statistics():
        assert each.offered == sum(each.refused.values()), each
        assert (each.queued, each.in_flight) == (0, 0), each
    assert agent.statistics().segment.state == "forked"


def report(name: str) -> None:
    """The work of a child that starts an agent of its own."""
    own = swagent.start(Config.from_env(instance=name, backend=sys.argv[1]))
    record()
    statistics = swagent.stop()
    assert statistics is not None
    assert statistics.segment.confirmed == RECORDS, statistics
    assert own.statistics().balanced


def be_child(name: str) -> None:
    """The body of a child of multiprocessing."""
    signal.alarm(PATIENCE)
    # nothing records it: there is no agent, or it is the parent's
    record()
    report(name)


def fork_beside_thread(backend: str) -> int:
    """Beside the agent thread, let a child end as programs do, with its parent's event loop in its memory."""
    agent = swagent.start(Config.from_env(backend=backend, instance="home"))
    with Load(3):
        code = fork(lambda: keep_still(agent), ends_as_usual=True)
    statistics = swagent.stop()
    assert statistics is not None
    assert statistics.segment.confirmed == statistics.segment.offered, statistics
    return code


def fork_in_every_way(agent: Agent, forks: int) -> dict[str, Any]:
    codes = [fork(lambda: keep_still(agent)) for _ in range(forks)]
    codes.append(fork(lambda: report("forked")))
    ways: dict[str, Any] = {}
    for way in ("fork", "spawn", "forkserver"):
        ways[way] = multiprocessing.get_context(way).Process(target=be_child, args=(way,))  # type: ignore[attr-defined]
        ways[way].start()
    for way, process in ways.items():
        process.join()
        ways[way] = process.exitcode
    inherited = int(subprocess.run([sys.executable, "-c", INHERITED], capture_output=True, check=True).stdout)
    return {"codes": sorted(set(codes)), "ways": ways, "inherited": inherited}


async def main(backend: str, forks: int, code: int) -> None:
    settings: dict[str, Any] = {"instance": "parent", "trace_max_buffer_size": 100_000, "shutdown_timeout": 20.0}
    agent = Agent(Config.from_env(backend=backend, **settings))
    async with agent:
        record()
        # over a connection that is there when the children come
        assert await agent.flush(10.0)
        with Load(3) as load:
            # in a task, with a span that is open
            with local_span("request"):
                inside = [fork(lambda: keep_still(agent)), fork(lambda: report("inside"))]
            found = await anyio.to_thread.run_sync(fork_in_every_way, agent, forks)
    found["codes"] = sorted({*found["codes"], *inside, code})
    segments = agent.statistics().segment
    found.update(made=load.count + RECORDS + 1, offered=segments.offered, confirmed=segments.confirmed)
    print(json.dumps(found))


if __name__ == "__main__":
    own_code = fork_beside_thread(sys.argv[1])
    library, options = loop_of(sys.argv[1])
    anyio.run(main, sys.argv[1], int(sys.argv[2]), own_code, backend=library, backend_options=options)
