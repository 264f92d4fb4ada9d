"""arq: a job's way through a real Redis."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from kit.real.ports import HOST
from kit.real.redis import Redis
from record.recorded import Recorder
from swagent import local_span

from .joins import joins
from .loops import anyio_backend  # noqa: F401
from .trees import trees

arq: Any = pytest.importorskip("arq")
arq_worker: Any = pytest.importorskip("arq.worker")

pytestmark = [pytest.mark.anyio, pytest.mark.e2e, pytest.mark.timeout(600)]
INSTRUMENTED = ("arq",)
AGAINST = "a real Redis"


async def price(ctx: Any, item: int) -> int:
    with local_span("work"):
        return item * 2


async def fail(ctx: Any) -> None:
    raise LookupError("no such order")


async def hang(ctx: Any) -> None:
    await asyncio.Event().wait()


async def again(ctx: Any) -> None:
    if ctx["job_try"] == 1:
        raise arq.Retry from LookupError("busy")


FUNCTIONS = [price, fail, again, arq.func(hang, timeout=0.05, max_tries=1)]


@pytest.fixture(params=[None, json], ids=["pickle", "json"])
async def redis(request: pytest.FixtureRequest, redis_server: Redis) -> AsyncIterator[Any]:
    own = request.param
    redis = await arq.create_pool(
        arq.connections.RedisSettings(host=HOST, port=redis_server.port),
        job_serializer=own and (lambda job: json.dumps(job, default=str).encode()),
        job_deserializer=own and json.loads,
    )
    await redis.flushdb()
    yield redis
    await redis.aclose(close_connection_pool=True)


async def work_off(redis: Any) -> None:
    worker = arq.Worker(
        FUNCTIONS,
        redis_pool=redis,
        burst=True,
        poll_delay=0.01,
        handle_signals=False,
        job_serializer=redis.job_serializer,
        job_deserializer=redis.job_deserializer,
    )
    await worker.async_run()


async def test_a_job_joins_its_sender_s_trace(recorder: Recorder, redis: Any, redis_server: Redis) -> None:
    with local_span("job"):
        job = await redis.enqueue_job("price", 2)
    await work_off(redis)
    assert await job.result(timeout=10) == 4
    broker = redis_server.address
    tags = f"mq.broker={broker} mq.queue=arq:queue"
    assert trees(recorder) == (
        f"Local job\n  Exit arq/price REDIS/MQ {broker} {tags}\n"
        f"Entry arq/price PYTHON/MQ {tags} transmission.latency=…\n  Local work"
    )
    assert joins(recorder) == ["arq/price <- arq/price"]


async def test_each_attempt_is_recorded(recorder: Recorder, redis: Any) -> None:
    await redis.enqueue_job("again")
    await work_off(redis)
    assert joins(recorder) == ["arq/again <- arq/again"] * 2
    assert [segment.spans[0].failed for segment in recorder.segments] == [False, False, False]
    first, second = (segment.spans[0] for segment in recorder.segments[1:])
    assert dict(first.logs[0][1])["event"] == "retry"
    assert ["transmission.latency" in dict(span.tags) for span in (first, second)] == [True, False]


async def test_a_failure_and_a_timeout_show(recorder: Recorder, redis: Any) -> None:
    await redis.enqueue_job("fail")
    await redis.enqueue_job("hang")
    await work_off(redis)
    spans = {segment.spans[0].name: segment.spans[0] for segment in recorder.segments if segment.spans[0].refs}
    assert spans["arq/fail"].failed
    assert dict(spans["arq/hang"].tags)["outcome"] == "timed_out"
    assert not spans["arq/hang"].failed


async def test_the_time_on_the_way_begins_when_a_job_is_due(recorder: Recorder, redis: Any) -> None:
    await redis.enqueue_job("price", 2, _defer_until=datetime.now(timezone.utc) - timedelta(hours=1))
    await work_off(redis)
    [received] = [span for segment in recorder.segments for span in segment.spans if span.refs]
    assert int(dict(received.tags)["transmission.latency"]) >= 3_600_000
