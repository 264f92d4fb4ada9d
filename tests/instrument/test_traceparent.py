"""Callers and producers that send `traceparent` and no `sw8`: their trace goes on."""

from __future__ import annotations

import pytest

from record.recorded import Recorder, recording
from swagent.instrument.libraries.messaging.message_call import begin_receive
from swagent.instrument.libraries.rpc.grpc_call import serve_grpc_call
from swagent.record.trace.model import Component

TRACE = "0af7651916cd43dd8448eb211c80319c"
CALLER = f"00-{TRACE}-b7ad6b7169203331-01"


class Message:
    def __init__(self, **headers: str) -> None:
        self.headers = [(key, value.encode()) for key, value in headers.items()]


def test_a_producers_trace_goes_on(recorder: Recorder) -> None:
    span = begin_receive("receive", Component.KAFKA_CONSUMER, [Message(), Message(traceparent=CALLER)], "kafka:9092")
    assert span is not None
    span.stop()
    assert recorder.only.trace_id == TRACE
    assert ("traceparent", CALLER) in recorder.only.spans[0].tags
    assert recorder.only.spans[0].refs == ()


@pytest.mark.parametrize("setting", ["traceparent", "trust_incoming"])
def test_it_can_be_left_out(setting: str) -> None:
    with recording(**{setting: False}) as recorder:
        span = begin_receive("receive", Component.KAFKA_CONSUMER, [Message(traceparent=CALLER)], "kafka:9092")
        assert span is not None
        span.stop()
    assert recorder.only.trace_id != TRACE


def test_a_grpc_callers_trace_goes_on(recorder: Recorder) -> None:
    with serve_grpc_call("/shop.Orders/Get", {"traceparent": CALLER}, "10.0.0.1:5000"):
        pass
    assert recorder.only.trace_id == TRACE
