"""dramatiq: a message's way through a real Redis, a real RabbitMQ and its own broker in memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kit.real.rabbitmq import RabbitMQ
from kit.real.redis import Redis
from record.recorded import Recorder
from swagent import local_span
from swagent.record.trace.model import Layer, SpanRecord

from .joins import check_attempts, joins
from .trees import trees

dramatiq: Any = pytest.importorskip("dramatiq")
middleware: Any = pytest.importorskip("dramatiq.middleware")
errors: Any = pytest.importorskip("dramatiq.errors")
pytest.importorskip("redis")
pytest.importorskip("pika")
stub: Any = pytest.importorskip("dramatiq.brokers.stub")
redis_broker: Any = pytest.importorskip("dramatiq.brokers.redis")
rabbitmq_broker: Any = pytest.importorskip("dramatiq.brokers.rabbitmq")

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]
INSTRUMENTED = ("dramatiq", "redis", "pika")
COLLECTS = ("dramatiq",)
EXAMPLES = ("dramatiq/price",)
AGAINST = "a real Redis; a real RabbitMQ"
NEEDS = ("redis", "pika")


def collected_by(span: SpanRecord) -> str | None:
    return "dramatiq" if span.layer == Layer.MQ else None


def retries() -> Any:
    return middleware.Retries(max_retries=1, min_backoff=1, max_backoff=2)


def make_stub() -> Any:
    return stub.StubBroker(middleware=[retries()])


class Shop:
    """Actors of a broker."""

    def __init__(self, broker: Any) -> None:
        self.broker = broker
        self.attempts: list[int] = []
        names = ("price", "fail", "again", "expected", "asks_again")
        self.actors = {name: dramatiq.actor(getattr(self, name), broker=broker, actor_name=name) for name in names}
        broker.emit_after("process_boot")

    def price(self, item: int) -> None:
        with local_span("work"):
            self.attempts.append(item)

    def fail(self) -> None:
        raise LookupError("no such order")

    def again(self) -> None:
        self.attempts.append(1)
        if len(self.attempts) == 1:
            raise LookupError("busy")

    def asks_again(self) -> None:
        self.attempts.append(1)
        if len(self.attempts) == 1:
            raise errors.Retry(delay=1)

    def expected(self) -> None:
        raise KeyError("sold out")

    def send(self, name: str, *args: Any, **options: Any) -> Any:
        return self.actors[name].send_with_options(args=args, **options)


@contextmanager
def working(broker: Any) -> Generator[Any, None, None]:
    """A block in which a worker of this process works."""
    worker = dramatiq.Worker(broker, worker_timeout=50, worker_threads=1)
    worker.start()
    try:
        yield worker
    finally:
        worker.stop()


def work_off(recorder: Recorder, broker: Any, count: int) -> None:
    """Let a worker work until there are so many segments."""
    with working(broker):
        wait_until(lambda: len(recorder.segments) >= count)


def wait_until(is_done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_done():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def shop() -> Shop:
    return Shop(make_stub())


@pytest.fixture(params=["stub", "redis", "rabbitmq"])
def any_shop(request: pytest.FixtureRequest) -> Iterator[tuple[Shop, str]]:
    if request.param == "stub":
        yield Shop(make_stub()), "PYTHON/MQ StubBroker"
        return
    broker: Any
    if request.param == "redis":
        server: Redis = request.getfixturevalue("redis_server")
        broker = redis_broker.RedisBroker(url=f"redis://{server.address}", middleware=[retries()])
        shown = f"REDIS/MQ {server.address}"
    else:
        rabbitmq: RabbitMQ = request.getfixturevalue("rabbitmq")
        broker = rabbitmq_broker.RabbitmqBroker(url=rabbitmq.url, middleware=[retries()])
        shown = f"RABBITMQ_PRODUCER/MQ {rabbitmq.address}"
    shop = Shop(broker)
    try:
        yield shop, shown
    finally:
        broker.flush_all()
        broker.close()


def test_a_message_joins_its_sender_s_trace(recorder: Recorder, any_shop: tuple[Shop, str]) -> None:
    shop, shown = any_shop
    with local_span("job"):
        shop.send("price", 2)
    work_off(recorder, shop.broker, 2)
    component, _, broker = shown.partition("/MQ ")
    received = {"RABBITMQ_PRODUCER": "RABBITMQ_CONSUMER"}.get(component, "PYTHON")
    tags = f"mq.broker={broker} mq.queue=default"
    # fetching and acknowledging are none of the application's calls
    assert trees(recorder) == (
        f"Local job\n  Exit dramatiq/price {shown} {tags}\n"
        f"Entry dramatiq/price {received}/MQ {tags} transmission.latency=…\n  Local work"
    )
    assert joins(recorder) == ["dramatiq/price <- dramatiq/price"]


def test_each_attempt_follows_the_one_before_it(recorder: Recorder, any_shop: tuple[Shop, str]) -> None:
    shop, _ = any_shop
    with local_span("job"):
        shop.send("again")
    work_off(recorder, shop.broker, 3)
    check_attempts(recorder, "dramatiq/again")
    attempts = recorder.segments[1:]
    assert ["transmission.latency" in dict(span.tags) for each in attempts for span in each.spans if span.refs] == [
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("name", "options"), [("fail", {"max_retries": 0}), ("fail", None), ("expected", {"throws": (KeyError,)})]
)
def test_a_failure_that_no_attempt_follows_shows(name: str, options: dict[str, Any] | None, recorder: Recorder) -> None:
    shop = Shop(stub.StubBroker(middleware=[]) if options is None else make_stub())
    shop.actors[name].options.update(options or {})
    shop.send(name)
    work_off(recorder, shop.broker, 2)
    failed = recorder.segments[1].spans[0]
    assert failed.failed
    assert dict(failed.logs[0][1])["error.kind"] == {"fail": "LookupError", "expected": "KeyError"}[name]


def test_an_actor_may_ask_for_another_attempt(recorder: Recorder, shop: Shop) -> None:
    shop.send("asks_again")
    work_off(recorder, shop.broker, 3)
    assert not any(span.failed or span.logs for segment in recorder.segments for span in segment.spans)
    assert joins(recorder) == ["dramatiq/asks_again <- dramatiq/asks_again"] * 2


@pytest.mark.parametrize(
    ("kind", "outcome"), [(middleware.TimeLimitExceeded, "timed_out"), (middleware.Shutdown, "cancelled")]
)
def test_what_interrupts_an_attempt_is_no_failure(
    kind: type[BaseException], outcome: str, recorder: Recorder, shop: Shop
) -> None:
    def hang() -> None:
        raise kind

    dramatiq.actor(hang, broker=shop.broker, max_retries=0).send()
    work_off(recorder, shop.broker, 2)
    span = recorder.segments[1].spans[0]
    assert dict(span.tags)["outcome"] == outcome
    assert not span.failed


def test_a_message_that_waits_says_nothing_of_the_way(recorder: Recorder, shop: Shop) -> None:
    with local_span("job"):
        shop.send("price", 2, delay=1)
    work_off(recorder, shop.broker, 2)
    assert joins(recorder) == ["dramatiq/price <- dramatiq/price"]
    assert "transmission.latency" not in dict(recorder.segments[1].spans[-1].tags)


def test_the_application_s_message_stays_as_it_is(recorder: Recorder, shop: Shop) -> None:
    message = shop.actors["price"].message(2)
    before = message.asdict()
    assert shop.broker.enqueue(message) is message
    assert message.asdict() == before
    assert message.options == {}
    work_off(recorder, shop.broker, 2)


def test_what_carries_the_context_is_hidden_from_an_actor_and_from_middleware(recorder: Recorder) -> None:
    class Looks(dramatiq.Middleware):  # type: ignore[misc]
        def before_process_message(self, _: object, message: Any) -> None:
            seen.append(dict(message.options))

    def look() -> None:
        seen.append(dict(middleware.CurrentMessage.get_current_message().options))
        raise LookupError("busy")

    def failed(message: Any, _: object) -> None:
        seen.append({name: message["options"][name] for name in message["options"] if name == "swagent"})

    seen: list[dict[str, Any]] = []
    broker = stub.StubBroker(middleware=[retries(), middleware.Callbacks(), middleware.CurrentMessage(), Looks()])
    dramatiq.actor(failed, broker=broker)
    dramatiq.actor(look, broker=broker, max_retries=0, on_failure="failed").send()
    work_off(recorder, broker, 3)
    assert joins(recorder) == ["dramatiq/look <- dramatiq/look", "dramatiq/failed <- dramatiq/failed"]
    assert seen == [{}, {}, {}, {}]


def test_a_broker_of_the_application_s_own_is_recorded_once(recorder: Recorder) -> None:
    class Own(stub.StubBroker):  # type: ignore[misc]
        def enqueue(self, message: Any, *, delay: Any = None) -> Any:
            return super().enqueue(message, delay=delay)

    Shop(Own(middleware=[])).send("price", 2)
    assert recorder.names == [["dramatiq/price"]]
