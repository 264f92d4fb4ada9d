"""An agent reports by OTLP, on each event loop: what arrives, and what its ledger says."""

from __future__ import annotations

import dataclasses
import itertools
import logging
import uuid
from collections.abc import Sequence
from typing import Any

import pytest
from grpclib.const import Status

from kit import answers, http_answers
from kit.client import until
from kit.h2_peer import H2Peer
from kit.http_peer import HttpPeer
from kit.otlp import attributes_of, grpc_reply, http_reply, partial, requests_of, spans_in
from otlp.clients import TRANSPORTS, with_retry_info
from swagent import Agent, Config, entry_span, exit_span, local_span
from swagent.ledger import SignalStatistics
from swagent.meters import Counter
from swagent.signals import Signal

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("protocol", TRANSPORTS)]


def peer_of(protocol: str) -> Any:
    return H2Peer(answers.confirm) if protocol == "otlp" else HttpPeer(http_reply(b""))


def config_of(peer: Any, protocol: str) -> Config:
    return Config(service="shop|test", instance="shop-1", collector=peer.address, protocol=protocol)


def segments_of(statistics: Any) -> SignalStatistics:
    found: SignalStatistics = statistics[Signal.SEGMENT]
    assert found.balanced
    return found


def by_name(spans: Sequence[Any]) -> dict[str, Any]:
    return {span.name: span for span in spans}


async def test_a_trace_arrives_joined(protocol: str) -> None:
    with peer_of(protocol) as peer:
        async with Agent(config_of(peer, protocol)) as agent:
            with entry_span("GET:/orders"), local_span("compute"), exit_span("/stock", peer="stock:80") as call:
                headers = call.headers()
            # the service that is called, which reports by the same agent here
            with entry_span("GET:/stock", sw8=headers["sw8"]):
                pass
            assert await agent.flush(30)
            assert segments_of(agent.statistics()).confirmed == 2
        requests = requests_of(peer)
    spans = by_name(spans_in(requests))
    assert len(spans) == 4
    names = ["GET:/orders", "compute", "/stock", "GET:/stock"]
    for parent, child in itertools.pairwise(names):
        assert spans[child].parent_span_id == spans[parent].span_id
        assert spans[child].trace_id == spans[parent].trace_id
    _, trace, place, _ = headers["traceparent"].split("-")
    assert (spans["/stock"].trace_id.hex(), spans["/stock"].span_id.hex()) == (trace, place)
    resources = [each.resource for request in requests for each in request.resource_spans]
    assert {attributes_of(each)["service.namespace"] for each in resources} == {"test"}
    assert all("process.pid" in attributes_of(each) for each in resources)


@pytest.mark.gate
async def test_a_batch_that_the_collector_postpones_arrives_once(protocol: str) -> None:
    is_grpc = protocol == "otlp"
    with peer_of(protocol) as peer:
        confirm = peer.behave

        async def postpone(call: Any) -> None:
            probe = not call.messages[0] if is_grpc else not call.body
            busy = with_retry_info(Status.UNAVAILABLE, 0) if is_grpc else http_answers.status(503, "Retry-After: 0")
            if not probe:
                peer.behave = confirm
            await (confirm if probe else busy)(call)

        peer.behave = postpone
        async with Agent(config_of(peer, protocol)) as agent:
            with local_span("work"):
                pass
            assert await agent.flush(30)
            statistics = segments_of(agent.statistics())
            assert (statistics.confirmed, statistics.dropped) == (1, {})
        assert len(spans_in(requests_of(peer))) == 2, "the same span, refused at first"


async def test_the_ledger_counts_what_a_partial_success_refuses(protocol: str) -> None:
    with peer_of(protocol) as peer:
        payload = partial("traces", 2, "too old")
        async with Agent(config_of(peer, protocol)) as agent:
            await until(lambda: peer.calls)
            peer.behave = grpc_reply(payload) if protocol == "otlp" else http_reply(payload)
            for _ in range(5):
                with local_span("work"):
                    pass
            await agent.flush(30)
            statistics = segments_of(agent.statistics())
            refused = statistics.dropped["rejected"]
            assert statistics.confirmed + refused == 5
            batches = sum(bool(request.resource_spans) for request in requests_of(peer))
            assert 0 < refused <= 2 * batches


async def test_logs_and_meters_arrive(protocol: str) -> None:
    name = f"otlp_test_{uuid.uuid4().hex}"
    Counter(name, labels={"shop": "north"}).increment(3)
    with peer_of(protocol) as peer:
        config = dataclasses.replace(config_of(peer, protocol), meter_reporter_period=0.05)
        async with Agent(config) as agent:
            with local_span("work") as span:
                logging.getLogger("shop.orders").warning("no order %d", 17)
            await until(lambda: agent.statistics().meter.confirmed)
            assert await agent.flush(30)
            statistics = agent.statistics()
            assert (statistics.log.confirmed, statistics.log.balanced, statistics.meter.balanced) == (1, True, True)
        logs, metrics = requests_of(peer, "logs"), requests_of(peer, "metrics")
        (work,) = spans_in(requests_of(peer))
    (record,) = [each for request in logs for each in request.resource_logs[0].scope_logs[0].log_records]
    assert "no order 17" in record.body.string_value
    assert (record.trace_id.hex(), record.span_id) == (span.trace_id, work.span_id)
    found = [each for request in metrics for each in request.resource_metrics[0].scope_metrics[0].metrics]
    points = [point for each in found if each.name == name for point in each.gauge.data_points]
    assert {point.as_double for point in points} == {3.0}
    assert attributes_of(points[0]) == {"shop": "north"}


async def test_a_period_of_meters_is_refused_as_a_whole(protocol: str) -> None:
    with peer_of(protocol) as peer:
        config = dataclasses.replace(config_of(peer, protocol), meter_reporter_period=0.05)
        payload = partial("metrics", 40)
        peer.behave = grpc_reply(payload) if protocol == "otlp" else http_reply(payload)
        async with Agent(config) as agent:
            await until(lambda: agent.statistics().meter.dropped.get("rejected"))
            assert agent.statistics().meter.confirmed == 0
