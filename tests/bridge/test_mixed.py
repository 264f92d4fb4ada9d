"""Two hundred jobs at once, with native and bridged spans, threads and cancellations: nothing is mixed."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import anyio
import pytest
from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import checkpoint
from opentelemetry import context, propagate, trace
from opentelemetry.trace import SpanKind, use_span

from kit.seeds import session_seed
from record.recorded import Recorder
from swagent import entry_span, exit_span, local_span

pytestmark = pytest.mark.anyio
tracer = trace.get_tracer("a.library")
orm = trace.get_tracer("opentelemetry.instrumentation.sqlalchemy")
JOBS = 200
QUERY: dict[str, Any] = {"db.system": "postgresql", "server.address": "db", "server.port": 5432}


class Jobs:
    """Runs jobs whose spans all carry the job's number.

    :ivar done: numbers of those that were not cancelled
    """

    def __init__(self) -> None:
        self.done: set[int] = set()
        self.cut: set[int] = set()
        self.trace_ids: dict[int, str] = {}
        self.limiter = CapacityLimiter(20)

    async def run(self, number: int, patience: int | None) -> None:
        """One job.

        :param patience: after how many steps it is cancelled; None: it is not
        """
        random = Random(f"{session_seed()} {number}")
        with anyio.CancelScope() as scope:

            async def step() -> None:
                nonlocal patience
                if patience is not None:
                    patience -= 1
                    if patience < 0:
                        scope.cancel()
                for _ in range(random.randrange(1, 4)):
                    await checkpoint()

            with entry_span(f"job-{number}") as job:
                self.trace_ids[number] = job.trace_id
                await self._work(number, step)
        (self.cut if scope.cancelled_caught else self.done).add(number)

    async def _work(self, number: int, step: Any) -> None:
        with tracer.start_as_current_span(f"bridged-{number}"):
            await step()
            with local_span(f"native-{number}"):
                await step()
                idle = orm.start_span(f"idle-{number}", kind=SpanKind.CLIENT, attributes=QUERY)
                try:
                    await step()
                finally:
                    idle.end()
            await to_thread.run_sync(self._in_thread, number, limiter=self.limiter)
            await step()
            async with anyio.create_task_group() as children:
                children.start_soon(self._child, number, "left", step)
                children.start_soon(self._child, number, "right", step)
        headers: dict[str, str] = {}
        with use_span(tracer.start_span(f"send-{number}", kind=SpanKind.PRODUCER), end_on_exit=True):
            await step()
            propagate.inject(headers)
        await self._receive(number, headers, step)

    def _in_thread(self, number: int) -> None:
        with tracer.start_as_current_span(f"thread-{number}"), exit_span(f"call-{number}", "shop:80") as call:
            assert call.trace_id == self.trace_ids[number]

    async def _child(self, number: int, side: str, step: Any) -> None:
        token = context.attach(context.set_value("number", number))
        try:
            with tracer.start_as_current_span(f"{side}-{number}") as span:
                await step()
                assert trace.get_current_span() is span
                assert context.get_value("number") == number
        finally:
            context.detach(token)

    async def _receive(self, number: int, headers: dict[str, str], step: Any) -> None:
        token = context.attach(propagate.extract(headers))
        try:
            with (
                tracer.start_as_current_span(f"receive-{number}", kind=SpanKind.CONSUMER),
                local_span(f"read-{number}"),
            ):
                await step()
        finally:
            context.detach(token)


async def test_two_hundred_jobs_at_once_are_not_mixed(recorder: Recorder) -> None:
    random, jobs = Random(session_seed()), Jobs()
    async with anyio.create_task_group() as all_jobs:
        for number in range(JOBS):
            patience = random.randrange(0, 9) if number % 4 == 0 else None
            all_jobs.start_soon(jobs.run, number, patience)
    assert jobs.done | jobs.cut == set(range(JOBS))
    assert len(jobs.cut) > JOBS // 10
    assert len(set(jobs.trace_ids.values())) == JOBS
    for segment in recorder.segments:
        numbers = {int(found) for span in segment.spans for found in re.findall(r"\d+$", span.name)}
        (number,) = numbers
        assert segment.trace_id == jobs.trace_ids[number]
        ids = {span.id for span in segment.spans}
        assert all(span.parent_id in ids or span.parent_id == -1 for span in segment.spans)
    for number in jobs.done:
        assert _tree(recorder, f"job-{number}") == _expected(number)
        (reference,) = recorder.span(f"receive-{number}").refs
        assert reference.span_id == recorder.span(f"send-{number}").id
        assert _tree(recorder, f"receive-{number}") == {
            f"receive-{number}": None,
            f"read-{number}": f"receive-{number}",
        }
    for number in jobs.cut:
        assert dict(recorder.span(f"job-{number}").tags)["outcome"] == "cancelled"
    assert recorder.tracer.incomplete == 0
    assert not recorder.tracer.open_segments


def _tree(recorder: Recorder, root: str) -> dict[str, str | None]:
    spans = recorder.of(root).spans
    names = {span.id: span.name for span in spans}
    return {span.name: names.get(span.parent_id) for span in spans}


def _expected(number: int) -> dict[str, str | None]:
    parents = {
        "job": None,
        "bridged": "job",
        "native": "bridged",
        "idle": "native",
        "thread": "bridged",
        "call": "thread",
        "left": "bridged",
        "right": "bridged",
        "send": "job",
    }
    return {f"{name}-{number}": parent and f"{parent}-{number}" for name, parent in parents.items()}
