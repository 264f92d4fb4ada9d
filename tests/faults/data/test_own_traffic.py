"""C05: the agent records nothing of its own work, however deep the application looks into the libraries it uses."""

from __future__ import annotations

import contextvars
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import aiokafka
import anyio
import httpx
import pytest

from faults.covering import covers
from faults.data.taking import taker_of
from swagent import Agent, Config, exit_span, local_span
from swagent.abc import Transport
from swagent.signals import Signal
from swagent.testing import MemoryCollector
from swagent_transports._grpclib_streams import Streams

pytestmark = pytest.mark.anyio

# longer than any of these may take; a recursion or a deadlock is what it is for
_WATCHDOG = 50.0
# the collector's thread, which may use the same libraries
_PEER = "loop-thread"
_QUIET: dict[str, Any] = {"service": "shop", "instance": "one", "heartbeat_period": 0.05}
_SENDS = {
    # grpclib only dials: the calls are the transport's own
    "grpc": (Streams, "begin"),
    "http": (httpx.AsyncHTTPTransport, "handle_async_request"),
    "kafka": (aiokafka.AIOKafkaProducer, "send_batch"),
}


class ShippingHandler(logging.Handler):
    """Ships what is logged by itself, in a span, and says so; as such handlers do."""

    def __init__(self) -> None:
        super().__init__()
        self.loggers: set[str] = set()
        self._is_shipping: contextvars.ContextVar[bool] = contextvars.ContextVar("shipping", default=False)

    def emit(self, record: logging.LogRecord) -> None:
        if record.threadName == _PEER:
            return
        self.loggers.add(record.name.partition(".")[0])
        if not self._is_shipping.get():
            self._is_shipping.set(True)
            with exit_span("ship a log record", peer="logs:80"):
                logging.getLogger("shipping").warning("shipped")
            self._is_shipping.set(False)


@contextmanager
def looked_into(protocol: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ShippingHandler, list[str]]]:
    """Every logger at DEBUG with a handler that records, and the library that sends wrapped in a span."""
    calls: list[str] = []
    owner, name = _SENDS[protocol]
    original: Callable[..., Any] = getattr(owner, name)

    def instrumented(*args: Any, **kwargs: Any) -> Any:
        calls.append(name)
        with exit_span("instrumented", peer="collector:80"):
            logging.getLogger("instrumentation").warning("calling")
            return original(*args, **kwargs)

    monkeypatch.setattr(owner, name, instrumented)
    handler, root = ShippingHandler(), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield handler, calls
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


@pytest.mark.gate
@covers("C05")
@pytest.mark.parametrize("protocol", _SENDS)
async def test_nothing_of_the_agents_own_work_is_reported(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        taker_of(protocol) as taker,
        looked_into(protocol, monkeypatch) as (handler, calls),
        anyio.fail_after(_WATCHDOG),
    ):
        config = Config(**_QUIET, log_reporter_level="1", log_level="debug", **taker.settings)
        async with Agent(config) as agent:
            with local_span("work"):
                logging.getLogger("app").debug("at work")
            while len(calls) < 8:
                assert await agent.flush(10)
                await anyio.sleep(0.01)
            offered = agent.statistics().segment.offered
            assert await agent.flush(10)
        assert agent.statistics().segment.offered == offered
        names = [segment.spans[-1].operation_name for segment in taker.segments]
        tags = [{tag.key: tag.value for tag in log.tags.data} for log in taker.logs]
        loggers = [each["logger"] for each in tags if each["thread"] != _PEER]
    assert "swagent" in handler.loggers, "the application's handlers did hear of it"
    assert names.count("work") == 1
    # the handler ran in the application's own work too, and was recorded there
    assert set(names) <= {"work", "ship a log record"}
    assert loggers.count("app") == 1
    assert not {name.partition(".")[0] for name in loggers} & {
        "swagent", "instrumentation", "h2", "hpack", "grpclib", "httpx", "httpcore", "h11", "aiokafka", "kafka",
    }  # fmt: skip


@covers("C05")
async def test_a_transport_that_records_while_it_sends_feeds_nothing_back() -> None:
    collector = MemoryCollector()

    async def behave() -> None:
        with local_span("sending") as span:
            logging.getLogger("sending").error("sending in %s", span)
            await anyio.lowlevel.checkpoint()
            async with anyio.create_task_group() as group:
                group.start_soon(record)

    async def record() -> None:
        logging.getLogger("sending").error("still sending")
        with local_span("still sending"):
            pass

    collector.behaviour = behave
    with anyio.fail_after(_WATCHDOG):
        async with Agent(Config(**_QUIET), transport=collector.transport) as agent:
            with local_span("work"):
                pass
            for _ in range(5):
                assert await agent.flush()
    assert (collector.count(Signal.SEGMENT), collector.count(Signal.LOG)) == (1, 0)


class Chatty:
    """A value that records, logs, flushes handlers and asks the agent while it is shown."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self.shown = 0

    def __str__(self) -> str:
        self.shown += 1
        logging.getLogger("chatty").error("shown")
        with local_span("shown") as span:
            span.tag("again", "and again")
            span.headers()
        return str(self._agent.statistics())


@covers("C05")
async def test_a_value_that_records_while_it_is_recorded_comes_to_an_end() -> None:
    collector = MemoryCollector()
    transport: type[Transport] = collector.transport
    with anyio.fail_after(_WATCHDOG):
        async with Agent(Config(**_QUIET), transport=transport) as agent:
            value = Chatty(agent)
            with local_span("work") as span:
                span.tag("value", value)
                span.log(value=value)
                logging.getLogger("app").error("it is %s", value)
                span.error(ValueError(value))
            assert await agent.flush()
    assert value.shown >= 4
    assert agent.statistics().balanced
    # what the application's handlers made of the value was recorded, what was said inside the report of it was not
    assert collector.count(Signal.SEGMENT) == 1
