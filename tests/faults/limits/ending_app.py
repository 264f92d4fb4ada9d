"""Programs that end without leaving their agent, each in a process of its own; a table of how that went, as JSON. What
they say on stderr goes to files of their names.

python ending_app.py BACKEND FOLDER ENDING...

Importing takes longer than everything else here, so it is done once, and each program is a fork of this one.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Awaitable, Callable

import anyio

import swagent
from swagent import Agent, Config, local_span
from swagent.hosting.agent_thread import loop_of
from swagent.runtime.transport_choice import find_transport

RECORDS = 3
SHUTDOWN = 5.0


def config(backend: str) -> Config:
    return Config.from_env(backend=backend, shutdown_timeout=SHUTDOWN, instance=f"{backend} {os.getpid()}")


def record() -> None:
    for _ in range(RECORDS):
        with local_span("work"):
            pass


async def report(agent: Agent) -> None:
    """Record as much as is known to be delivered, and then as much that waits."""
    record()
    assert await agent.flush(10.0)
    record()


async def exit_inside(agent: Agent) -> None:
    """`sys.exit()` inside the agent's block."""
    async with agent:
        await report(agent)
        sys.exit(3)


async def error_inside(agent: Agent) -> None:
    """An error that is not handled."""
    async with agent:
        await report(agent)
        raise LookupError("the application's own")


async def os_exit_inside(agent: Agent) -> None:
    """The process is gone at once."""
    async with agent:
        await report(agent)
        os._exit(3)


async def forget(agent: Agent) -> None:
    """Entered by hand and never left; says when it has come to its own end."""
    await agent.__aenter__()
    await report(agent)
    print(f"over at {time.monotonic()}", file=sys.stderr)


def close_loop(backend: str) -> None:
    """A loop that is stopped and closed with the agent's tasks in it."""
    _, options = loop_of(backend)
    loop = options["loop_factory"]() if "loop_factory" in options else __import__("uvloop").new_event_loop()
    agent = Agent(config(backend))
    loop.run_until_complete(forget(agent))
    loop.close()


def forget_thread(backend: str) -> None:
    """The agent thread, which is not stopped."""
    swagent.start(config(backend))
    record()


def exit_beside_thread(backend: str) -> None:
    """The agent thread, and `sys.exit()` in the main thread."""
    swagent.start(config(backend))
    record()
    sys.exit(3)


INSIDE: dict[str, Callable[[Agent], Awaitable[None]]] = {
    each.__name__: each for each in (exit_inside, error_inside, os_exit_inside, forget)
}
BESIDE: dict[str, Callable[[str], None]] = {
    each.__name__: each for each in (close_loop, forget_thread, exit_beside_thread)
}


def run(ending: str, backend: str) -> None:
    if ending in BESIDE:
        BESIDE[ending](backend)
        return
    library, options = loop_of(backend)
    anyio.run(INSIDE[ending], Agent(config(backend)), backend=library, backend_options=options)


def main() -> None:
    backend, folder, *endings = sys.argv[1:]
    find_transport(config(backend))
    began = time.monotonic()
    children = {begin(ending, backend, folder): ending for ending in endings}
    table = {}
    while children:
        child, status = os.wait()
        table[children.pop(child)] = {
            "code": os.waitstatus_to_exitcode(status),
            "seconds": time.monotonic() - began,
            "gone_at": time.monotonic(),
            "instance": f"{backend} {child}",
        }
    print(json.dumps(table))


def begin(ending: str, backend: str, folder: str) -> int:
    """Fork a program; returns its process's id. In the child it runs, and does not return."""
    child = os.fork()
    if not child:
        errors = os.open(os.path.join(folder, ending), os.O_WRONLY | os.O_CREAT)
        os.dup2(errors, 2)
        os.close(errors)
        run(ending, backend)
        sys.exit()
    return child


if __name__ == "__main__":
    main()
