"""The metrics that a real OAP makes of the gauges of a process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial

import pytest
from grpclib.client import Channel

from e2e import samples
from e2e.graphql import OapQuery, eventually
from kit.real.oap import Oap
from swagent_proto.messages import MeterReportServiceStub

pytestmark = pytest.mark.anyio


@pytest.fixture
async def channel(oap: Oap) -> AsyncIterator[Channel]:
    async with Channel("127.0.0.1", oap.ports[0]) as channel:
        yield channel


UTILIZATION = [f"{whose}_{what}_utilization" for whose in ("total", "process") for what in ("cpu", "mem")]
RUNTIME_GAUGES = [*UTILIZATION, "gc_g0", "gc_g1", "gc_g2", "thread_active_count"]


async def test_every_runtime_gauge_becomes_a_metric(channel: Channel, query: OapQuery) -> None:
    service = samples.unique("gauges")
    values = {f"instance_pvm_{gauge}": 40.0 + place for place, gauge in enumerate(RUNTIME_GAUGES)}
    await MeterReportServiceStub(channel).collect([samples.gauge(service, *item) for item in values.items()])

    async def seen() -> dict[str, float | None]:
        instance = samples.instance(service)
        return {name: await query.meter(f"meter_{name}", service, instance) for name in values}

    assert await eventually(seen, until=lambda found: None not in found.values()) == values


async def test_of_the_time_of_the_garbage_collector_each_minutes_share_shows(channel: Channel, query: OapQuery) -> None:
    service = samples.unique("garbage")
    before = samples.gauge(service, "instance_pvm_gc_time", 1_000.0)
    now = samples.gauge(service, "instance_pvm_gc_time", 1_047.0)
    before.timestamp = now.timestamp - 60_000
    # a report has one time for all
    for report in (before, now):
        await MeterReportServiceStub(channel).collect([report])
    asked = partial(query.meter, "meter_instance_pvm_gc_time", service, samples.instance(service))
    await eventually(asked, until=lambda found: found == 47)
