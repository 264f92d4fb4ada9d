"""taskiq: a task's way through its own broker in memory, and through a real Redis."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import pytest

from kit.real.redis import Redis
from record.recorded import Recorder
from swagent import local_span

from .joins import check_attempts, joins
from .loops import anyio_backend  # noqa: F401
from .trees import trees

taskiq: Any = pytest.importorskip("taskiq")
middlewares: Any = pytest.importorskip("taskiq.middlewares")
receivers: Any = pytest.importorskip("taskiq.receiver")
redis: Any = pytest.importorskip("redis.asyncio")

pytestmark = [pytest.mark.anyio, pytest.mark.e2e, pytest.mark.timeout(600)]
INSTRUMENTED = ("taskiq",)
EXAMPLES = ("taskiq/price",)
AGAINST = "a real Redis"
NEEDS = ("redis",)
SENT = "Exit taskiq/price PYTHON/MQ Broker mq.broker=Broker"
DONE = "Entry taskiq/price PYTHON/MQ mq.broker=Broker transmission.latency=…"


class Broker(taskiq.AsyncBroker):  # type: ignore[misc]
    """One whose messages wait until they are worked off."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[Any] = []

    async def kick(self, message: Any) -> None:
        self.waiting.append(message.message)

    async def listen(self) -> AsyncGenerator[bytes, None]:
        while self.waiting:
            yield self.waiting.pop(0)

    async def work_off(self) -> None:
        receiver = receivers.Receiver(self)
        async for message in self.listen():
            # as a worker, which works on each in a task of its own
            await asyncio.create_task(receiver.callback(message))


class RedisBroker(Broker):
    """As that of taskiq-redis, whose newest version does not get on with other clients of these tests."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.connection_pool = redis.ConnectionPool.from_url(url)
        self.queue_name = "shop"

    async def kick(self, message: Any) -> None:
        await redis.Redis(connection_pool=self.connection_pool).lpush(self.queue_name, message.message)

    async def listen(self) -> AsyncGenerator[bytes, None]:
        while (message := await redis.Redis(connection_pool=self.connection_pool).rpop(self.queue_name)) is not None:
            yield message


def with_tasks(broker: Any) -> Any:
    attempts: list[int] = []

    async def price(item: int) -> int:
        with local_span("work"):
            return item * 2

    def sync(item: int) -> int:
        with local_span("work"):
            return item * 2

    async def fail() -> None:
        raise LookupError("no such order")

    async def hang() -> None:
        await asyncio.Event().wait()

    async def cancelled() -> None:
        raise asyncio.CancelledError

    async def no_result() -> None:
        raise taskiq.NoResultError

    async def again() -> None:
        attempts.append(1)
        if len(attempts) == 1:
            raise LookupError("busy")

    async def outer() -> None:
        await send(broker, "price", 3)

    broker.register_task(price, "price")
    broker.register_task(sync, "sync")
    broker.register_task(fail, "fail")
    broker.register_task(hang, "hang", timeout=0.05)
    broker.register_task(cancelled, "cancelled")
    broker.register_task(no_result, "no_result")
    broker.register_task(again, "again", retry_on_error=True)
    broker.register_task(outer, "outer")
    return broker


async def send(broker: Any, name: str, *args: Any, **labels: Any) -> None:
    await broker.find_task(name).kicker().with_labels(**labels).kiq(*args)


@pytest.fixture
def broker() -> Any:
    return with_tasks(Broker())


@pytest.fixture
async def redis_broker(redis_server: Redis) -> AsyncIterator[Any]:
    broker = with_tasks(RedisBroker(f"redis://{redis_server.address}"))
    yield broker
    await broker.connection_pool.disconnect()


async def test_a_task_joins_its_sender_s_trace(recorder: Recorder, broker: Any) -> None:
    with local_span("job"):
        await send(broker, "price", 2)
    await broker.work_off()
    assert trees(recorder) == f"Local job\n  {SENT}\n{DONE}\n  Local work"
    assert joins(recorder) == ["taskiq/price <- taskiq/price"]


async def test_through_a_real_redis(recorder: Recorder, redis_broker: Any, redis_server: Redis) -> None:
    with local_span("job"):
        await send(redis_broker, "price", 2)
    await redis_broker.work_off()
    address = redis_server.address
    tags = f"mq.broker={address} mq.queue=shop"
    assert trees(recorder) == (
        f"Local job\n  Exit taskiq/price REDIS/MQ {address} {tags}\n"
        f"Entry taskiq/price PYTHON/MQ {tags} transmission.latency=…\n  Local work"
    )
    assert joins(recorder) == ["taskiq/price <- taskiq/price"]


@pytest.mark.parametrize("in_place", [False, True])
async def test_the_broker_in_memory_works_below_no_call(in_place: bool, recorder: Recorder) -> None:
    broker = with_tasks(taskiq.InMemoryBroker(await_inplace=in_place))
    with local_span("job"):
        await send(broker, "price", 2)
    await broker.wait_all()
    await broker.shutdown()
    assert joins(recorder) == ["taskiq/price <- taskiq/price"]
    assert sorted(recorder.names) == [["job", "taskiq/price"], ["taskiq/price", "work"]]


async def test_each_attempt_follows_the_one_before_it(recorder: Recorder, broker: Any) -> None:
    broker.add_middlewares(middlewares.SimpleRetryMiddleware(default_retry_count=3))
    with local_span("job"):
        await send(broker, "again")
    await broker.work_off()
    check_attempts(recorder, "taskiq/again")


async def test_an_attempt_is_known_again_after_a_task_that_it_waited_for(recorder: Recorder) -> None:
    broker = taskiq.InMemoryBroker(await_inplace=True)
    broker.add_middlewares(middlewares.SimpleRetryMiddleware(default_retry_count=2))
    attempts: list[int] = []

    async def child() -> None:
        await asyncio.sleep(0)

    async def parent() -> None:
        await send(broker, "child")
        attempts.append(1)
        if len(attempts) == 1:
            raise LookupError("busy")

    broker.register_task(child, "child")
    broker.register_task(parent, "parent", retry_on_error=True)
    await send(broker, "parent")
    await broker.shutdown()
    assert len(attempts) == 2
    attempted = [span for each in recorder.segments for span in each.spans if span.name == "taskiq/parent"]
    assert not any(span.failed for span in attempted)


@pytest.mark.parametrize(
    ("name", "outcome", "is_failed"),
    [("fail", None, True), ("hang", "timed_out", False), ("cancelled", "cancelled", False), ("no_result", None, False)],
)
async def test_how_a_task_ended_shows(
    name: str, outcome: str | None, is_failed: bool, recorder: Recorder, broker: Any
) -> None:
    await send(broker, name)
    await broker.work_off()
    span = recorder.segments[1].spans[0]
    assert (dict(span.tags).get("outcome"), span.failed) == (outcome, is_failed)
    assert [dict(fields)["error.kind"].rpartition(".")[2] for _, fields in span.logs] == {
        "fail": ["LookupError"], "hang": ["TimeoutError"],
    }.get(name, [])  # fmt: skip


async def test_a_task_that_is_to_wait_says_nothing_of_the_way(recorder: Recorder, broker: Any) -> None:
    await send(broker, "price", 2, delay=1)
    await broker.work_off()
    assert "transmission.latency" not in dict(recorder.segments[1].spans[0].tags)


async def test_labels_of_the_application_s_own_stay(recorder: Recorder, broker: Any) -> None:
    await send(broker, "price", 2, sw8="mine", tenant="acme")
    message = broker.formatter.loads(broker.waiting[0])
    assert (message.labels["sw8"], message.labels["tenant"]) == ("mine", "acme")
    await broker.work_off()
    assert joins(recorder) == []
