"""The bytes of a request whose span nobody needed are those that the full path gives, whatever it holds."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from swagent.abc import Codec
from swagent.pipeline import segment_template
from swagent.pipeline.encoder import Encoder
from swagent.pipeline.request_encoder import RequestEncoder
from swagent.pipeline.segment_template import EARLIEST, LATEST
from swagent.record.trace.carrier import Carrier
from swagent.record.trace.ids import ids_of
from swagent.record.trace.model import Component, Reference, RefKind, SpanKind
from swagent.record.trace.request import PEERS, UNMATCHED, Facts, FinishedRequest, admit, describe
from swagent.record.trace.segment import Segment
from swagent.record.trace.single_span import SingleSpanSegment, SpanTemplate
from swagent.record.trace.span import Span
from swagent.record.trace.tracer import Tracer

NOW = 1_790_000_000.123
CODECS = get_args(Codec)
MARKS = [segment_template._TRACE_ID, str(segment_template._START), "^" * 14, "^"]
TEXTS = st.text(max_size=20) | st.sampled_from([*MARKS, "\ud800", '"\\'])
CALLER = Carrier(True, "trace", "segment", 7, "gate", "gate-1", "GET:/", "shop:80")


def made(codec: Codec) -> tuple[RequestEncoder, Encoder, Tracer]:
    encoder, tracer = Encoder(codec, "shop", "one"), Tracer("shop", "one", lambda _: None, endpoint_limit=4)
    return RequestEncoder(encoder, tracer), encoder, tracer


def request(number: int = 1, start: float = NOW, end: float = NOW, **facts: Any) -> FinishedRequest:
    known: dict[str, Any] = {
        "method": "GET", "scheme": "http", "host": b"shop", "path": "/items/7", "template": "/items/{id}",
        "component": Component.FASTAPI, "status": 200,
    }  # fmt: skip
    client, carrier = facts.pop("client", ("127.0.0.1", 80)), facts.pop("carrier", None)
    return FinishedRequest(number, start, end, client, carrier, **(known | facts))


def by_the_full_path(encoder: Encoder, tracer: Tracer, finished: FinishedRequest) -> bytes:
    """The same segment, by way of a span."""
    number, start, end, client, carrier = finished[:5]
    facts = Facts(*finished[5:])
    described = describe(facts)
    span = Span(
        described.name, SpanKind(described.kind), PEERS[client] if client else "", described.layer, described.component
    )
    span.id, span.start_time, span.end_time = 0, start, end
    span.name = admit(described, facts, tracer.endpoints)
    span.tags, span.failed, span.ended = list(described.tags), described.failed, True
    if carrier is not None:
        span.refs = [Reference(RefKind.CROSS_PROCESS, *carrier[1:])]
    trace_id, segment_id = ids_of(number)
    segment = Segment(tracer, span, carrier.trace_id if carrier else trace_id, segment_id)
    return encoder.segment((segment, [span]))


@pytest.mark.parametrize("codec", CODECS)
@given(
    path=TEXTS,
    template=TEXTS | st.none() | st.just(UNMATCHED),
    host=st.binary(max_size=20),
    method=st.sampled_from(["GET", "WEBSOCKET", "_OTHER"]),
    status=st.sampled_from([0, 101, 200, 404, 500]),
    times=st.tuples(st.floats(NOW, NOW + 1000), st.floats(NOW, NOW + 10**6)) | st.just((0.0, 1.0)),
    client=st.none() | st.tuples(TEXTS, st.integers(0, 65535)),
    carrier=st.none() | st.just(CALLER),
)
@example(
    path="/", template="/", host=b"", method="GET", status=200, times=(EARLIEST / 1000, LATEST / 1000),
    client=("127.0.0.1", 43210), carrier=None,
)  # fmt: skip
@example(
    path="/", template="/", host=b"", method="GET", status=200, times=(EARLIEST / 1000 - 1, LATEST / 1000 + 1),
    client=("127.0.0.1", 43210), carrier=None,
)  # fmt: skip
@example(
    path=str(segment_template._START), template=str(segment_template._END), host=b"~", method="GET", status=200,
    times=(NOW, NOW), client=None, carrier=None,
)  # fmt: skip
def test_whatever_it_holds(
    codec: Codec, times: tuple[float, float], client: Any, carrier: Carrier | None, **facts: Any
) -> None:
    requests, encoder, tracer = made(codec)
    for number in (3, 2**40):  # the second one by a template, where there can be one
        finished = request(number, *times, client=client, carrier=carrier, **facts)
        assert requests.encode(finished, 0.0) == by_the_full_path(encoder, tracer, finished)


@pytest.mark.parametrize("codec", CODECS)
def test_one_template_serves_every_request_of_a_kind(codec: Codec, monkeypatch: pytest.MonkeyPatch) -> None:
    requests, encoder, tracer = made(codec)
    generic: list[SingleSpanSegment] = []
    encode_generic = encoder.encode_generic

    def count(single: SingleSpanSegment, reference: Any = None) -> bytes:
        generic.append(single)
        return encode_generic(single, reference)

    monkeypatch.setattr(encoder, "encode_generic", count)
    for number in range(1, 100):
        finished = request(
            number, NOW + number, NOW + 2 * number, client=(f"10.0.0.{number}", 80), path=f"/items/{number}"
        )
        assert requests.encode(finished, 0.0) == by_the_full_path(encoder, tracer, finished)
    # for each length of a peer one template and the first request
    assert len(generic) == 4


def test_requests_beyond_the_limit_of_endpoints_share_a_name() -> None:
    requests, encoder, tracer = made("json")
    for number in range(1, 10):
        finished = request(number, template=f"/{number}/{{id}}")
        for _ in range(2):
            assert requests.encode(finished, 0.0) == by_the_full_path(encoder, tracer, finished)
    assert tracer.endpoints.overflowed == 2 * 2 * 5


def test_an_ignored_request_is_not_recorded() -> None:
    encoder = Encoder("json", "shop", "one")
    tracer = Tracer("shop", "one", lambda _: None, is_ignored=lambda name: name == "GET:/health")
    requests = RequestEncoder(encoder, tracer)
    assert requests.encode(request(path="/health", template="/{probe}"), 0.0) is None
    assert requests.encode(request(path="/items/7"), 0.0) is not None


def test_a_mark_that_stands_in_a_text_as_well_is_no_template() -> None:
    span = SpanTemplate(segment_template._SEGMENT_ID, 0, 3, 7014, (), failed=False)
    lengths = segment_template.Lengths(4)
    with pytest.raises(ValueError, match="not there once"):
        segment_template.SegmentTemplate(
            span, lengths, Encoder("json").encode_generic, lambda number: str(number).encode()
        )
