"""`traceparent` beside `sw8`: what others read in it, and what is taken from it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swagent import entry_span, exit_span, local_span
from swagent.record.trace.carrier import format_sw8
from swagent.record.trace.headers import share_headers, write_headers
from swagent.record.trace.ids import new_id
from swagent.record.trace.sampling import Sampler
from swagent.record.trace.traceparent import (
    Traceparent,
    fold,
    format_traceparent,
    format_tracestate,
    parse_traceparent,
)
from swagent.record.trace.tracer import Tracer

from .recorded import Clock, Recorder, recording

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
CALLER = f"00-{TRACE}-{SPAN}-01"


_MALFORMED = [
    f"ff-{TRACE}-{SPAN}-01", f"{CALLER}-more", f"00-{'0' * 32}-{SPAN}-01", f"00-{TRACE}-{'0' * 16}-01",
    f"00-{TRACE.upper()}-{SPAN}-01", f"00-{TRACE}-{SPAN}", f"{CALLER},{CALLER}", "", None, 17, "x" * 10_000,
]  # fmt: skip
_READ = {
    CALLER: 1, CALLER.encode(): 1, f" {CALLER}\t": 1, f"00-{TRACE}-{SPAN}-00": 0,
    f"cc-{TRACE}-{SPAN}-01-of-the-future": 1,
}  # fmt: skip


@pytest.mark.parametrize("text", [*_READ, *_MALFORMED], ids=lambda text: repr(text)[:80])
def test_only_what_has_the_form_is_read(text: Any) -> None:
    assert parse_traceparent(text) == (Traceparent(TRACE, SPAN, _READ[text]) if text in _READ else None)


@pytest.mark.parametrize(
    ("state", "kept"),
    [
        ("a=1, b=2 ,, c@d=3", "a=1,b=2,c@d=3"),
        ("a=1,sw=old-1,b=2", "a=1,b=2"),
        (b"a=1", "a=1"),
        ("a=1,b", ""),
        ("A=1", ""),
        (",".join(f"k{number}=1" for number in range(33)), ""),
        (None, ""),
        (17, ""),
    ],
)
def test_others_entries_are_kept_and_ours_is_replaced(state: object, kept: str) -> None:
    caller = parse_traceparent(CALLER, state)
    assert caller is not None
    assert caller.state == kept


@given(st.one_of(st.text(), st.binary()), st.one_of(st.text(), st.binary()))
def test_anything_may_come(text: object, state: object) -> None:
    caller = parse_traceparent(text, state)
    assert caller is None or parse_traceparent(str(caller)) == caller._replace(state="")
    assert parse_traceparent(CALLER, state) is not None


@pytest.mark.parametrize(
    ("span_id", "expected"), [(0, 0x0000000000000000), (1, 0x0100000000000000), (0x010203, 0x0302010000000000)]
)
def test_a_spans_id_is_folded_as_opentelemetrys_receiver_does(span_id: int, expected: int) -> None:
    high, low = 0x0123456789ABCDEF, 0xFEDCBA9876543210
    assert fold(f"{high:016x}{low:016x}", span_id) == high ^ low ^ expected


def test_a_call_carries_both_with_one_trace_id(recorder: Recorder) -> None:
    with local_span("job"), exit_span("call", "shop:80") as call:
        headers = call.headers()
    trace_id, segment_id = recorder.only.trace_id, recorder.only.id
    assert headers["traceparent"] == f"00-{trace_id}-{fold(segment_id, call.id):016x}-01"
    assert headers["tracestate"] == f"sw={segment_id}-{call.id}"


@given(st.integers(0, 70_000), st.sampled_from(["", "other=1"]), st.booleans(), st.sampled_from([TRACE, "a.b.c", "é"]))
def test_headers_of_a_segment(span_id: int, others: str, has_w3c: bool, trace_id: str) -> None:
    segment_id, place = new_id(), ("shop", "shop-1", "GET:/cart", "stock:80")
    written = write_headers(
        (share_headers(trace_id, segment_id), span_id, "GET:/cart", {}, others),
        Tracer("shop", "shop-1", id, traceparent=has_w3c),
        "stock:80",
    )
    traceparent = format_traceparent(trace_id, segment_id, span_id) if has_w3c else ""
    expected = {"sw8": format_sw8((True, trace_id, segment_id, span_id, *place))}
    if traceparent:
        expected["traceparent"] = traceparent
        expected["tracestate"] = format_tracestate(others, segment_id, span_id)
    assert written == expected


def test_a_trace_of_another_form_travels_in_sw8_alone(recorder: Recorder) -> None:
    with exit_span("first", "shop:80") as first:
        fields = first.headers()["sw8"].split("-")
    fields[1] = "YS5iLmM="  # a.b.c, as a Java agent's
    with entry_span("request", sw8="-".join(fields)), exit_span("call", "shop:80") as call:
        assert sorted(call.headers()) == ["sw8"]
    assert format_traceparent("a.b.c", recorder.of("call").id, 1) == ""


def test_a_caller_without_sw8_gives_the_trace_and_no_reference(recorder: Recorder) -> None:
    with entry_span("request", traceparent=CALLER, tracestate="other=1"), exit_span("call", "shop:80") as call:
        headers = call.headers()
    request = recorder.span("request")
    assert (recorder.only.trace_id, request.refs, dict(request.tags)) == (TRACE, (), {"traceparent": CALLER})
    assert headers["traceparent"].startswith(f"00-{TRACE}-")
    assert headers["tracestate"] == f"sw={recorder.only.id}-1,other=1"


def test_sw8_wins_unless_it_is_malformed(recorder: Recorder) -> None:
    with exit_span("call", "shop:80") as call:
        sw8 = call.headers()["sw8"]
    for name, header in (("request", sw8), ("malformed", "1-²")):
        with entry_span(name, sw8=header, traceparent=CALLER):
            pass
    assert recorder.of("request").trace_id == recorder.of("call").trace_id
    assert len(recorder.span("request").refs) == 1
    assert recorder.of("malformed").trace_id == TRACE


def test_without_the_setting_it_is_neither_written_nor_read() -> None:
    with recording(traceparent=False) as recorder:
        request = entry_span("request", traceparent=CALLER)
        with request, exit_span("call", "shop:80") as call:
            assert sorted(call.headers()) == ["sw8"]
    assert recorder.only.trace_id != TRACE


@pytest.mark.parametrize(("flags", "count"), [("00", 1), ("01", 3)])
def test_a_trace_that_the_caller_does_not_record_is_sampled_as_one_of_ours(flags: str, count: int) -> None:
    with recording(sampler=Sampler(1, Clock())) as recorder:
        for _ in range(3):
            with entry_span("request", traceparent=f"00-{TRACE}-{SPAN}-{flags}"):
                pass
    assert len(recorder.segments) == count


def test_entries_of_others_go_on_after_the_root_has_moved() -> None:
    with recording(span_limit=1) as recorder:
        request = entry_span("request", traceparent=CALLER, tracestate="other=1")
        with request, exit_span("call", "shop:80") as call:
            headers = call.headers()
    assert headers["tracestate"].endswith(",other=1")
    assert {segment.trace_id for segment in recorder.segments} == {TRACE}
