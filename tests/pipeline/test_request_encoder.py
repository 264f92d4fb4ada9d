"""The bytes of a request whose span was not needed are those that the full path gives, whatever it holds."""

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
from swagent.record.trace.carrier import Carrier, format_sw8, parse_sw8
from swagent.record.trace.ids import FIRST_NUMBER, ids_of, new_number
from swagent.record.trace.model import Component, Reference, RefKind, SpanKind
from swagent.record.trace.segment import Segment
from swagent.record.trace.single_span import SingleSpanSegment, SpanTemplate
from swagent.record.trace.span import Span
from swagent.record.trace.tracer import Tracer
from swagent.request.description import PEERS, admit, describe
from swagent.request.facts import UNMATCHED, Facts
from swagent.request.finished import FinishedRequest
from swagent.request.split_times import SplitTimes

NOW = 1_790_000_000.123
CODECS = get_args(Codec)
MARKS = [segment_template._TRACE_ID, str(segment_template._START), "^" * 14, "^"]
TEXTS = st.text(max_size=20) | st.sampled_from([*MARKS, "\ud800", '"\\'])
ODD_CALLER = Carrier(True, "träce", "segment", 7, "gate", "gate-1", "GET:/", "shop:80")
CALLER = Carrier(True, "trace", "segment", 7, "gate", "gate-1", "GET:/", "shop:80")

_MS = st.integers(0, 3) | st.integers(0, 10**6)
SPLITS = st.none() | st.builds(SplitTimes, _MS, _MS, _MS, st.none() | _MS, st.just("") | TEXTS)


def made(codec: Codec, endpoint_limit: int = 4) -> tuple[RequestEncoder, Encoder, Tracer]:
    encoder = Encoder(codec, "shop", "one")
    tracer = Tracer("shop", "one", lambda _: None, endpoint_limit=endpoint_limit)
    return RequestEncoder(encoder, tracer), encoder, tracer


def encoded(requests: RequestEncoder, *finished: FinishedRequest) -> list[bytes | None]:
    """As the intake does it: together those that are like others, and each other by itself."""
    alike = requests.encode_alike([field for each in finished for field in each], 0.0)
    return [requests.encode(each, 0.0) if known is None else known for known, each in zip(alike, finished, strict=True)]


def request(number: int = FIRST_NUMBER, start: float = NOW, end: float = NOW, **facts: Any) -> FinishedRequest:
    known: dict[str, Any] = {
        "method": "GET", "scheme": "http", "host": b"shop", "path": "/items/7", "template": "/items/{id}",
        "component": Component.FASTAPI, "status": 200,
    }  # fmt: skip
    client, caller = facts.pop("client", ("127.0.0.1", 80)), facts.pop("caller", None)
    return FinishedRequest(number, start, end, client, caller, facts.pop("split", None), **(known | facts))


def by_the_full_path(encoder: Encoder, tracer: Tracer, finished: Any) -> bytes:
    """The same segment, by way of a span."""
    number, start, end, client, caller, split, *rest = finished
    carrier = parse_sw8(caller) if caller is not None else None
    facts = Facts(*rest)
    described = describe(facts)
    peer = PEERS[tuple(client)] if client else ""
    span = Span(described.name, SpanKind(described.kind), peer, described.layer, described.component)
    span.id, span.start_time, span.end_time = 0, start, end
    span.name = admit(described, facts, tracer.endpoints)
    span.tags = [*described.tags, *(split.tags() if split is not None else ())]
    span.failed, span.ended = described.failed, True
    if carrier is not None:
        span.refs = [Reference(RefKind.CROSS_PROCESS, *carrier[1:])]
    trace_id, segment_id = ids_of(number)
    segment = Segment(tracer, span, carrier.trace_id if carrier else trace_id, segment_id)
    return encoder.segment((segment, [span]))


@pytest.mark.gate
@pytest.mark.parametrize("codec", CODECS)
@given(
    path=TEXTS,
    template=TEXTS | st.none() | st.just(UNMATCHED),
    host=st.binary(max_size=20),
    method=st.sampled_from(["GET", "WEBSOCKET", "_OTHER"]),
    status=st.sampled_from([0, 101, 200, 404, 500]),
    times=st.tuples(st.floats(NOW, NOW + 1000), st.floats(NOW, NOW + 10**6)) | st.just((0.0, 1.0)),
    client=st.none() | st.tuples(TEXTS, st.integers(0, 65535)),
    caller=st.sampled_from([None, format_sw8(CALLER).encode(), format_sw8(ODD_CALLER).encode(), b"1-x"]),
    split=SPLITS,
)
@example(
    path="/", template="/", host=b"", method="GET", status=200, times=(EARLIEST / 1000, LATEST / 1000),
    client=("127.0.0.1", 43210), caller=None, split=None,
)  # fmt: skip
@example(
    path="/", template="/", host=b"", method="GET", status=200, times=(EARLIEST / 1000 - 1, LATEST / 1000 + 1),
    client=("127.0.0.1", 43210), caller=None, split=None,
)  # fmt: skip
@example(
    path=str(segment_template._START), template=str(segment_template._END), host=b"~", method="GET", status=200,
    times=(NOW, NOW), client=None, caller=None, split=None,
)  # fmt: skip
def test_whatever_it_holds(
    codec: Codec, times: tuple[float, float], client: Any, caller: bytes | None, **facts: Any
) -> None:
    requests, encoder, tracer = made(codec)
    for number in (new_number(), new_number()):  # the second one by a template, where there can be one
        finished = request(number, *times, client=client, caller=caller, **facts)
        assert encoded(requests, finished) == [by_the_full_path(encoder, tracer, finished)]


@pytest.mark.gate
@pytest.mark.parametrize("codec", CODECS)
@given(
    several=st.lists(
        st.fixed_dictionaries({
            "path": st.sampled_from(["/items/7", "/items/7.css", "/100%"]),
            "template": st.sampled_from(["/items/{id}", "/100%", None]),
            "status": st.sampled_from([200, 404]),
            "client": st.sampled_from([None, ("127.0.0.1", 80), ["127.0.0.1", 80], ("\ud800", 1), ("10.0.0.1", 80)]),
            "caller": st.sampled_from([None, format_sw8(CALLER).encode(), format_sw8(ODD_CALLER).encode()]),
            "split": SPLITS,
        }),
        max_size=8,
    )
)  # fmt: skip
def test_in_a_group_each_is_what_it_is_alone(codec: Codec, several: list[dict[str, Any]]) -> None:
    requests, encoder, tracer = made(codec, 100)
    for _ in range(2):
        group = [request(new_number(), NOW + at, NOW + 2 * at, **each) for at, each in enumerate(several)]
        assert encoded(requests, *group) == [by_the_full_path(encoder, tracer, each) for each in group]


def test_a_request_of_a_caller_that_is_not_sampled_is_not_recorded() -> None:
    requests, _, _ = made("json")
    unsampled = format_sw8(CALLER._replace(sampled=False)).encode()
    assert encoded(requests, *[request(caller=unsampled), request(caller=unsampled)]) == [None, None]


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
            new_number(), NOW + number, NOW + 2 * number, client=(f"10.0.0.{number}", 80), path=f"/items/{number}"
        )
        assert encoded(requests, finished) == [by_the_full_path(encoder, tracer, finished)]
    # for each length of a peer one template and the first request
    assert len(generic) == 4


def test_requests_beyond_the_limit_of_endpoints_share_a_name() -> None:
    requests, encoder, tracer = made("json")
    for number in range(1, 10):
        finished = request(new_number(), template=f"/{number}/{{id}}")
        for _ in range(2):
            assert encoded(requests, finished) == [by_the_full_path(encoder, tracer, finished)]
    assert tracer.endpoints.overflowed == 2 * 2 * 5


def test_an_ignored_request_is_not_recorded() -> None:
    encoder = Encoder("json", "shop", "one")
    tracer = Tracer("shop", "one", lambda _: None, is_ignored=lambda name: name == "GET:/health")
    requests = RequestEncoder(encoder, tracer)
    for _ in range(2):  # the second time there is a template
        assert encoded(requests, request(path="/health", template="/{id}")) == [None]
        assert encoded(requests, request(path="/items/7", template="/{id}")) != [None]


def test_the_ignored_operations_may_change() -> None:
    requests, _, tracer = made("json")
    health = request(path="/health", template="/{id}")
    assert [encoded(requests, health) == [None] for _ in range(2)] == [False, False]
    tracer.ignore_by(lambda name: name == "GET:/health")
    assert encoded(requests, health) == [None]
    tracer.ignore_by(lambda _: False)
    assert encoded(requests, health) != [None]


def test_a_mark_that_is_in_a_text_as_well_is_no_template() -> None:
    span = SpanTemplate(segment_template._SEGMENT_ID, 0, 3, 7014, (), failed=False)
    lengths = segment_template.Lengths(4)
    with pytest.raises(ValueError, match="not there once"):
        segment_template.make_template(
            span, lengths, Encoder("json").encode_generic, lambda number: str(number).encode()
        )


@pytest.mark.parametrize("codec", CODECS)
def test_an_interrupt_while_requests_are_encoded_goes_on(codec: Codec) -> None:
    def interrupted(name: str) -> bool:
        raise KeyboardInterrupt

    requests, _, tracer = made(codec)
    encoded(requests, request())
    before = tracer.is_ignored
    tracer.ignores_dots_only, tracer.is_ignored = False, interrupted
    with pytest.raises(KeyboardInterrupt):
        encoded(requests, request())
    tracer.is_ignored = before
    assert None not in encoded(requests, request())
