"""Logs, meters and events take the same way as traces; what a transport cannot carry is off, and says so."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from swagent import Agent, Config, ConfigError, entry_span
from swagent.errors import RejectedError
from swagent.ledger import SignalStatistics
from swagent.meters import Counter
from swagent.signals import Signal
from swagent.testing import MemoryCollector
from swagent_proto.messages import Event, LogData, MeterDataCollection
from swagent_transports.http import HttpTransport

pytestmark = pytest.mark.anyio

CONFIG = Config(service="shop", instance="one", collector="memory:1")


async def test_a_log_line_inside_a_request_carries_its_trace() -> None:
    collector = MemoryCollector()
    async with Agent(CONFIG, transport=collector.transport) as agent:
        with entry_span("GET:/") as span:
            logging.getLogger("shop").warning("only %d left", 2)
        assert await agent.flush()
    (record,) = collector.records[Signal.LOG]
    log = LogData().parse(record)
    assert (log.service, log.service_instance, log.endpoint) == ("shop", "one", "GET:/")
    assert log.body.text.text.endswith("WARNING shop - only 2 left")
    assert (log.trace_context.trace_id, log.trace_context.span_id) == (span.trace_id, 0)


async def test_a_period_of_meters_is_one_record_and_the_last_one_comes_at_the_stop() -> None:
    collector = MemoryCollector()
    name = f"orders_{uuid.uuid4().hex}"  # meters outlive agents
    orders = Counter(name)
    async with Agent(CONFIG, transport=collector.transport):
        orders.increment(3)
        assert collector.count(Signal.METER) == 0
    (record,) = collector.records[Signal.METER]
    first, *others = MeterDataCollection().parse(record).meter_data
    assert (first.service, first.service_instance) == ("shop", "one")
    values = {data.single_value.name: data.single_value.value for data in (first, *others) if _is_single(data)}
    assert values[name] == 3
    assert "instance_pvm_thread_active_count" in values
    assert "swagent_records_offered" in values


async def test_start_and_stop_are_events_and_the_last_has_the_ledger_of_all_signals() -> None:
    collector = MemoryCollector()
    # a busy machine holds the loop, which would be an event, too
    async with Agent(replace(CONFIG, loop_block_limit=0), transport=collector.transport) as agent:
        with entry_span("GET:/"):
            logging.getLogger("shop").warning("only one left")
    events = [Event().parse(record) for record in collector.records[Signal.EVENT]]
    assert [event.name for event in events] == ["Start", "Shutdown"]
    assert {event.source.service_instance for event in events} == {"one"}
    assert events[0].start_time <= events[0].end_time <= events[1].start_time
    # the event itself included
    ledger = {each.signal.value: each.as_text() for each in agent.statistics() if each.offered}
    assert events[1].parameters == ledger
    assert ledger["segment"] == "offered=1 confirmed=1"


async def test_a_ledger_as_text_names_each_reason() -> None:
    class Refusing(MemoryCollector):
        async def take(self, signal: Signal, records: Sequence[bytes]) -> None:
            if signal is Signal.SEGMENT:
                raise RejectedError("not these")
            await super().take(signal, records)

    collector = Refusing()
    async with Agent(replace(CONFIG, loop_block_limit=0), transport=collector.transport):
        with entry_span("GET:/"):
            pass
    event = Event().parse(collector.records[Signal.EVENT][-1])
    assert event.parameters["segment"] == "offered=1 dropped.rejected=1"


async def test_confirmed_records_are_counted_by_how_long_they_took() -> None:
    collector = MemoryCollector()
    async with Agent(CONFIG, transport=collector.transport) as agent:
        for _ in range(5):
            with entry_span("GET:/"):
                pass
        assert await agent.flush()
        assert sum(agent.statistics().segment.latency) == agent.statistics().segment.confirmed == 5


@pytest.mark.parametrize("signal", ["log", "meter", "event"])
async def test_a_signal_that_is_switched_off_takes_nothing(signal: str) -> None:
    collector = MemoryCollector()
    switched_off: dict[str, Any] = {f"{signal}_reporter_active": False}
    config = Config(collector="memory:1", **switched_off)
    async with Agent(config, transport=collector.transport) as agent:
        logging.getLogger("shop").warning("unheard")
        statistics: SignalStatistics = agent.statistics()[signal]
        assert statistics.state == "off: switched off"
    assert collector.records[Signal(signal)] == []
    assert agent.statistics()[signal].offered == 0


async def test_a_signal_that_http_cannot_carry_is_off_and_says_so() -> None:
    settings: dict[str, Any] = {"collector": "http://127.0.0.1:9", "protocol": "http", "shutdown_timeout": 0.0}
    async with Agent(Config(**settings), transport=HttpTransport) as agent:
        assert agent.statistics().meter.state == "off: http carries no meters"
        assert agent.statistics().log.state == "on"
    asking = Agent(Config(**settings, meter_reporter_active=True), transport=HttpTransport)
    with pytest.raises(ConfigError, match=r"meter_reporter_active=True cannot be used.*http carries no meters"):
        await asking.start()


def _is_single(data: object) -> bool:
    return bool(getattr(data, "_group_current", {}).get("metric") == "single_value")
