"""The headers of an outgoing call: what the peer reads in them, and who gets none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swagent import entry_span, exit_span, local_span
from swagent.record.trace.carrier import Carrier, format_sw8
from swagent.record.trace.model import RefKind
from swagent.record.trace.span import Span

from .recorded import INSTANCE, SERVICE, Recorder, carrier_of, recording


def test_the_peer_reads_where_the_call_comes_from(recorder: Recorder) -> None:
    with entry_span("GET:/cart") as request, exit_span("call", "shop:8080") as call:
        headers = call.headers()
    assert headers.keys() == {"sw8", "traceparent", "tracestate"}
    assert carrier_of(headers) == Carrier(
        True, request.trace_id, request.segment_id, call.id, SERVICE, INSTANCE, "GET:/cart", "shop:8080"
    )


def test_the_service_behind_refers_to_the_call(recorder: Recorder) -> None:
    with entry_span("front") as front, exit_span("call", "shop:8080") as call:
        headers = call.headers()
    with entry_span("shop", sw8=headers["sw8"].encode()) as shop:
        assert shop.trace_id == front.trace_id
    reference = recorder.reference("shop")
    assert reference.kind is RefKind.CROSS_PROCESS
    assert reference[1:] == (front.trace_id, front.segment_id, 1, SERVICE, INSTANCE, "front", "shop:8080")


@given(st.text(), st.text())
def test_whatever_the_names_are_the_peer_can_read_the_headers(name: str, peer: str) -> None:
    with recording(), exit_span(name, peer) as call:
        carrier = carrier_of(call.headers())
    assert (carrier.trace_id, carrier.span_id) == (call.trace_id, 0)


def test_unnamed_endpoints_and_peers_leave_no_field_empty(recorder: Recorder) -> None:
    with local_span("") as span:
        carrier = carrier_of(span.headers())
    assert (carrier.endpoint, carrier.address) == ("-", "-")


def test_the_endpoint_is_the_name_of_the_entry_span_by_now(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    with entry_span("GET:/items/7"), exit_span("call", "shop:80") as call:
        monkeypatch.setattr(Span, "name_now", lambda _: "GET:/items/{id}")
        assert carrier_of(call.headers()).endpoint == "GET:/items/{id}"


@pytest.mark.parametrize("sampled", ["0", "1"])
def test_an_unrecorded_trace_hands_nothing_on(sampled: str) -> None:
    sw8 = sampled + format_sw8(Carrier(True, "t", "s", 0, "a", "b", "c", "d"))[1:]
    with recording(is_ignored=lambda _: True), entry_span("request", sw8=sw8), exit_span("call", "shop:80") as call:
        assert call.headers() == {}


_LISTED = ["shop", "shop:8080", "SHOP:8080", "db:5432", "[::1]:80", "shop:9092;db:5432"]
_OTHERS = ["db:5433", "db", "shop.example", "evilshop", "shop:9092,db:5433", ""]


@pytest.mark.parametrize("peer", [*_LISTED, *_OTHERS])
def test_only_listed_hosts_get_the_context(peer: str) -> None:
    with recording(propagate_to=("Shop", "db:5432", "[::1]")) as recorder, exit_span("call", peer) as call:
        assert bool(call.headers()) is (peer in _LISTED)
    assert recorder.only.names == ["call"]


_OWN = ["localhost:4000", "127.0.0.1", "10.1.2.3:80", "[::1]:80", "fd00::1", "ollama", "llm.ai.svc.cluster.local:80",
        "gateway.corp.internal", "box.local"]  # fmt: skip
_PUBLIC = ["api.openai.com:443", "8.8.8.8", "[2606:4700::1111]:443", "internal.example.com", ""]


@pytest.mark.parametrize("peer", [*_OWN, *_PUBLIC])
@pytest.mark.parametrize("hosts", [(), ("*", "models.example")])
def test_a_foreign_service_gets_the_context_on_the_own_network_or_by_name(peer: str, hosts: tuple[str, ...]) -> None:
    tracer = Recorder(propagate_to=hosts).tracer
    assert tracer.propagates_to_foreign(peer) is (peer in _OWN)
    assert tracer.propagates_to(peer)
    assert tracer.propagates_to_foreign("models.example:443") is bool(hosts)
    assert not Recorder(propagate_to=("shop",)).tracer.propagates_to_foreign("localhost")


@pytest.mark.parametrize("answer", [True, False, 1, "", None])
def test_the_user_decides_whose_context_is_continued(answer: object) -> None:
    recorder = Recorder(trust_incoming=lambda scope: scope["answer"])
    assert recorder.tracer.trusts({"answer": answer}) is bool(answer)
    assert recorder.tracer.trusts({}) is False, "a fault in the decision costs the context and not the request"
    assert Recorder(trust_incoming=False).tracer.trusts({}) is False
    assert Recorder().tracer.trusts({}) is True
