"""The application under test, as a server loads it: `uvicorn stress.soak.application:app`.

Each request makes an entry span, a local span and one warning, and calls the servers of SOAK_SERVERS, if there are any.
What the agent's transport confirmed goes by name into the file SOAK_CONFIRMED, and every two seconds the state of the
agent and of the process into SOAK_SAMPLES; the last line there is from after the agent's end, and says so.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import IO, Any

import anyio
import psutil
from anyio.abc import TaskGroup

from stress.soak.calls import Call, open_calls
from stress.soak.orphans import end_with_the_run
from stress.soak.record_names import as_lines, names_of
from stress.soak.servers import VARIABLE, read_servers
from swagent import Agent, Config, local_span
from swagent.abc import Transport
from swagent.asgi import SkyWalkingMiddleware
from swagent.instrument import instrument
from swagent.runtime.transport_choice import find_transport
from swagent.signals import Signal

SAMPLE_PERIOD = 2.0
_WORK = 0.002


def witness(transport: type[Transport], file: IO[bytes]) -> type[Transport]:
    """A transport that writes down what it confirmed."""

    class Witness(transport):  # type: ignore[misc, valid-type]
        async def send(self, signal: Signal, records: Sequence[bytes]) -> None:
            await super().send(signal, records)
            file.write(as_lines(signal, names_of(signal, records)))

    return Witness


class LogLines(logging.Handler):
    """Prints the agent's own lines so that a reader can tell a line's reason from its parameters."""

    def emit(self, record: logging.LogRecord) -> None:
        line = {"at": record.created, "level": record.levelname, "form": str(record.msg), "text": record.getMessage()}
        print(f"swagent {json.dumps(line)}", flush=True)


def _prepare_logging() -> logging.Logger:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    agents_own = logging.getLogger("swagent")
    agents_own.addHandler(LogLines())
    agents_own.propagate = False
    work = logging.getLogger("soak.work")
    # captured by the agent only: the output is looked through for what should not be there
    work.addHandler(logging.NullHandler())
    work.propagate = False
    return work


work_log = _prepare_logging()
config = Config.from_env()
# for as long as the process lives
confirmed = Path(os.environ["SOAK_CONFIRMED"]).open("ab", buffering=0)  # noqa: SIM115
samples = Path(os.environ["SOAK_SAMPLES"]).open("a", buffering=1)  # noqa: SIM115
agent = Agent(config, transport=witness(find_transport(config), confirmed))
process = psutil.Process()
calls: list[Call] = []
if VARIABLE in os.environ:
    instrument()


async def serve(scope: Any, receive: Any, send: Any) -> None:
    """The application without its middleware."""
    if scope["type"] == "lifespan":
        await _live(receive, send)
        return
    number = scope["query_string"]
    with local_span("work"):
        await anyio.sleep(_WORK)
        for call in calls:
            await call()
        work_log.warning("worked")
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(number))]})
    await send({"type": "http.response.body", "body": number})


async def _live(receive: Any, send: Any) -> None:
    await receive()
    end_with_the_run()
    async with AsyncExitStack() as stack:
        if VARIABLE in os.environ:  # before the agent, which is to record requests only
            calls.append(await stack.enter_async_context(open_calls(read_servers(os.environ[VARIABLE]))))
        group = await _start_agent(stack)
        await send({"type": "lifespan.startup.complete"})
        await receive()
        group.cancel_scope.cancel()
    _write_sample(len(anyio.get_running_tasks()), _ledgers(), is_last=True)
    await send({"type": "lifespan.shutdown.complete"})


async def _start_agent(stack: AsyncExitStack) -> TaskGroup:
    await stack.enter_async_context(agent)
    group = await stack.enter_async_context(anyio.create_task_group())
    group.start_soon(_write_samples)
    return group


async def _write_samples() -> None:
    while True:
        # from another thread, as any thread may: what is written there must balance in every moment
        ledgers = await anyio.to_thread.run_sync(_ledgers)
        _write_sample(len(anyio.get_running_tasks()), ledgers)
        await anyio.sleep(SAMPLE_PERIOD)


def _write_sample(tasks: int, ledgers: dict[str, Any], *, is_last: bool = False) -> None:
    with process.oneshot():
        sample = {
            "at": time.monotonic(),
            "is_last": is_last,
            "rss": process.memory_info().rss,
            "descriptors": process.num_fds(),
            "threads": process.num_threads(),
            "tasks": tasks,
            "ledgers": ledgers,
        }
    samples.write(json.dumps(sample) + "\n")


def _ledgers() -> dict[str, Any]:
    return {
        each.signal.value: {
            "offered": each.offered,
            "confirmed": each.confirmed,
            "queued": each.queued,
            "in_flight": each.in_flight,
            "balanced": each.balanced,
            "state": each.state,
            "refused": dict(each.refused),
            "dropped": dict(each.dropped),
        }
        for each in agent.statistics()
    }


app = SkyWalkingMiddleware(serve, agent=agent)
