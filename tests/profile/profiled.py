"""An application whose agent is given profile tasks by a collector in memory, and what that collector gets."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from asgi.calling import SEGMENTS_ONLY, Traced, body, start
from swagent import Agent, Config
from swagent.abc import Command, Instance
from swagent.asgi import SkyWalkingMiddleware
from swagent.asgi.lifespan import App, Receive, Scope, Send
from swagent.profile import request_stacks
from swagent.signals import Signal
from swagent.testing import MemoryCollector
from swagent_proto.messages import ThreadSnapshot

DEADLINE = 20.0
ON_ASYNCIO = pytest.mark.parametrize(
    "anyio_backend", [("asyncio", {}), ("asyncio", {"use_uvloop": True})], ids=["asyncio", "uvloop"]
)


async def answer(send: Send) -> None:
    await send(start())
    await send(body())


def handling(work: Callable[[], Awaitable[object]]) -> App:
    """An application that does this before it answers."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await work()
        await answer(send)

    return app


def profile_command(endpoint: str = "GET:/slow", name: str = "ProfileTaskQuery", **changes: str) -> Command:
    """A profile task as OAP sends it."""
    now = str(int(time.time() * 1000))
    given = {
        "SerialNumber": "1", "TaskId": "task-1", "EndpointName": endpoint, "Duration": "5", "MinDurationThreshold": "0",
        "DumpPeriod": "10", "MaxSamplingCount": "1", "StartTime": now, "CreateTime": now,
    }  # fmt: skip
    return Command(name, {**given, **changes})


class Looks:
    """The stacks that the sampler has seen so far; the application may wait for it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.stacks: list[list[str]] = []
        for name in ("task_stack", "thread_stack"):
            monkeypatch.setattr(request_stacks, name, self._noted(getattr(request_stacks, name)))

    def has(self, *texts: str) -> bool:
        """Whether one stack has all these texts."""
        return any(all(any(text in line for line in stack) for text in texts) for stack in self.stacks)

    def count(self, text: str) -> int:
        return sum(any(text in line for line in stack) for stack in self.stacks)

    async def wait(self, *texts: str) -> None:
        """Wait in the loop, again and again."""
        with anyio.fail_after(DEADLINE):
            while not self.has(*texts):  # noqa: ASYNC110  (what is looked at is this wait)
                await anyio.sleep(0.01)

    def hold(self, *texts: str) -> None:
        """Hold this thread."""
        until = time.monotonic() + DEADLINE
        while not self.has(*texts) and time.monotonic() < until:
            time.sleep(0.002)
        assert self.has(*texts), self.stacks[-3:]

    def _noted(self, look: Callable[..., list[str]]) -> Callable[..., list[str]]:
        def noted(*args: Any) -> list[str]:
            stack = look(*args)
            self.stacks.append(stack)
            return stack

        return noted


class Profiled(Traced):
    """An application whose requests are profiled."""

    commands: list[Command]
    asked: list[int]
    finished: list[str]

    async def wait_watched(self) -> None:
        """Wait until a task is being carried out."""
        with anyio.fail_after(DEADLINE):
            while self.agent.tracer.request_watch is None:  # noqa: ASYNC110  (it comes by the agent's loop)
                await anyio.sleep(0.005)

    async def wait_finished(self) -> None:
        """Wait until the collector knows that a task is over, and has the snapshots."""
        with anyio.fail_after(DEADLINE):
            while not self.finished:  # noqa: ASYNC110  (as above)
                await anyio.sleep(0.005)
        assert await self.agent.flush(DEADLINE)

    def snapshots(self) -> list[ThreadSnapshot]:
        """Those that arrived, but for the ones that only list a segment."""
        return [each for each in self.all_snapshots() if each.sequence]

    def all_snapshots(self) -> list[ThreadSnapshot]:
        return [ThreadSnapshot().parse(each) for each in self.collector.records[Signal.PROFILE]]

    def outcomes(self) -> dict[str, float]:
        """How many commands there were, by what became of them."""
        profiler: Any = self.agent._recording.profiler
        return {dict(each.labels)["outcome"]: each.value for each in profiler.collect()}


@asynccontextmanager
async def profiled(app: App, *commands: Command, **config: Any) -> AsyncGenerator[Profiled]:
    """The application, and an agent whose collector gives these commands at each question."""
    collector = MemoryCollector()
    given = [*commands]
    asked: list[int] = []
    finished: list[str] = []

    class Transport(collector.transport):  # type: ignore[misc, name-defined]
        async def profile_commands(self, instance: Instance, since: int) -> Sequence[Command]:
            assert instance.service == "shop"
            asked.append(since)
            return given

        async def report_profile_finish(self, instance: Instance, task: str) -> None:
            finished.append(task)

    settings = {**SEGMENTS_ONLY, "profile_active": True, "service": "shop", "get_profile_task_interval": 0.05, **config}
    async with Agent(Config(**settings), transport=Transport) as agent:
        found = Profiled(SkyWalkingMiddleware(app, agent=agent), agent, collector)
        found.commands, found.asked, found.finished = given, asked, finished
        yield found
