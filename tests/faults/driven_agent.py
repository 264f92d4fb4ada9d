"""An agent in a process of its own. It obeys orders, one line of JSON at a time, and says what became of it.

python driven_agent.py BACKEND      commands come on stdin, one answer to each goes to stdout

One agent lives at a time, and any number one after the other. The end of stdin ends the process.
"""

from __future__ import annotations

import json
import logging
import random
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import psutil
from anyio.abc import TaskGroup

from faults.noted_transport import Note, noted
from kit.stopwatch import Stopwatch
from swagent import Agent, Config, entry_span
from swagent.hosting.agent_thread import loop_of
from swagent.runtime.transport_choice import find_transport

# only what is recorded by command is under way
SEGMENTS_ONLY = {
    "log_reporter_active": False, "meter_reporter_active": False, "event_reporter_active": False,
    "profile_active": False,
}  # fmt: skip
TICK = 0.02
Answer = dict[str, Any]


class LogLines(logging.Handler):
    """The log lines of the agent."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.levelname} {record.getMessage()}")


class Driven:
    """The agent and its orders. Each public method is a command; what it returns goes into the answer."""

    def __init__(self, group: TaskGroup) -> None:
        self._group = group
        self._life = AsyncExitStack()
        self._agent: Agent | None = None
        self._notes: list[Note] = []
        self._log = LogLines()
        self._busy = anyio.CancelScope()
        self._process = psutil.Process()
        logging.getLogger("swagent").addHandler(self._log)

    async def start(self, settings: dict[str, Any], short_rests: bool = False) -> Answer:
        """Begin an agent's life.

        :param short_rests: backoff with next to no delay
        """
        # full jitter multiplies by this; everything else here that is random uses ids of its own
        random.random = (lambda: 0.01) if short_rests else random.SystemRandom().random
        self._notes.clear()
        self._log.lines.clear()
        config = Config(**{**SEGMENTS_ONLY, **settings})
        self._agent = Agent(config, transport=noted(find_transport(config), self._notes))
        began = time.monotonic()
        await self._life.enter_async_context(self._agent)
        return {"seconds": time.monotonic() - began}

    async def record(self, count: int, size: int = 0) -> Answer:
        """Record segments in one go, giving way now and then.

        :param size: how many characters each has beyond what it needs
        """
        began = time.monotonic()
        for number in range(count):
            with entry_span("GET:/work") as span:
                for start in range(0, size, 1000):
                    span.tag(f"padding {start}", "x" * min(1000, size - start))
            if number % 200 == 199:
                await anyio.lowlevel.checkpoint()
        return {"seconds": time.monotonic() - began}

    async def load(self, rate: int, size: int = 0) -> Answer:
        """Record so many segments a second, until `calm`."""
        self._busy = anyio.CancelScope()
        self._group.start_soon(self._keep_recording, rate, size, self._busy)
        return {}

    async def calm(self) -> Answer:
        """Record no more."""
        self._busy.cancel()
        return {}

    async def wait(self, what: str, within: float, anew: bool = True) -> Answer:
        """Wait for a batch of segments to be confirmed, for a call to fail, or until nothing is queued or under way.

        :param what: confirmed, failed or settled
        :param anew: what was confirmed or failed before this command does not count
        """
        began = time.monotonic()
        seen = len(self._notes) if anew else 0
        wanted: dict[str, Callable[[], object]] = {
            "confirmed": lambda: any(n.verdict == "confirmed" and n.call == "send" for n in self._notes[seen:]),
            "failed": lambda: any(n.verdict != "confirmed" for n in self._notes[seen:]),
            "settled": lambda: not (self._segments.queued or self._segments.in_flight),
        }
        with anyio.move_on_after(within):
            while not wanted[what]():  # noqa: ASYNC110  (the agent under test has no event for it)
                await anyio.sleep(TICK)
        return {"reached": bool(wanted[what]()), "seconds": time.monotonic() - began, "at": time.monotonic()}

    async def sockets(self) -> Answer:
        """The local ports of the connections that are up."""
        found = await anyio.to_thread.run_sync(self._process.net_connections)
        return {"ports": sorted(each.laddr.port for each in found if each.status == psutil.CONN_ESTABLISHED)}

    async def look(self) -> Answer:
        """The notes on every call so far, and the log's lines."""
        return {"notes": [vars(each) for each in self._notes], "log": list(self._log.lines)}

    async def stop(self) -> Answer:
        """End the agent's life; returns how long it took, without its waits for a processor, and all notes and
        log lines."""
        self._busy.cancel()
        watch = Stopwatch()
        await self._life.aclose()
        return {"seconds": watch.own_seconds, **await self.look()}

    async def obey(self, line: str) -> Answer:
        """Run one command; whatever goes wrong with it is the answer."""
        command = json.loads(line)
        method: Callable[..., Awaitable[Answer]] = getattr(self, command.pop("do"))
        try:
            return {**await method(**command), **self._figures()}
        except Exception as error:
            return {"error": repr(error)}

    async def _keep_recording(self, rate: int, size: int, scope: anyio.CancelScope) -> None:
        with scope:
            while True:
                await self.record(1, size)
                await anyio.sleep(1 / rate)

    @property
    def _segments(self) -> Any:
        assert self._agent is not None, "start first"
        return self._agent.statistics().segment

    def _figures(self) -> Answer:
        found = self._segments
        names = ("offered", "accepted", "confirmed", "queued", "queued_bytes", "in_flight", "balanced")
        counts = {name: getattr(found, name) for name in names}
        ledger = {**counts, "refused": dict(found.refused), "dropped": dict(found.dropped)}
        return {"ledger": ledger, "rss": self._process.memory_info().rss}


async def main() -> None:
    """Obey until stdin ends."""
    # unbuffered, as the environment may have it, `print` loses the end of what the pipe has no room for
    answers = open(sys.stdout.fileno(), "w", closefd=False)  # noqa: ASYNC230, SIM115  (a pipe that is read at once)
    async with anyio.create_task_group() as group:
        driven = Driven(group)
        while line := await anyio.to_thread.run_sync(sys.stdin.readline):
            print(json.dumps(await driven.obey(line)), file=answers, flush=True)
        await driven.stop()


if __name__ == "__main__":
    library, options = loop_of(sys.argv[1])
    anyio.run(main, backend=library, backend_options=options)
