"""The protocol's JSON endpoints: what agents send, and what they must not."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from swagent.collector.server import Collector
from swagent.collector.store.records import Event
from swagent.collector.store.trace_records import Segment, Span

pytestmark = pytest.mark.anyio
# proto3's JSON has 64-bit numbers as text and names of enums; many agents send numbers
SPAN = {"startTime": "1700000000000", "endTime": 1700000000042, "spanLayer": 1, "spanType": "Exit", "anUnknownField": 1}
SEGMENT = {"traceId": "t", "traceSegmentId": "s1", "spans": [SPAN]}


Served = tuple[Collector, httpx.AsyncClient]


@pytest.fixture
def served(over_http: Served) -> Served:
    return over_http


async def test_segments(served: Served) -> None:
    collector, client = served
    answers = [
        await client.post("/v3/segments", json=[SEGMENT, {**SEGMENT, "traceSegmentId": "s2"}]),
        await client.post("/v3/segment", json={**SEGMENT, "traceSegmentId": "s3"}),
    ]
    assert [(answer.status_code, answer.json()) for answer in answers] == [(200, {})] * 2
    span = Span(0, 0, 1_700_000_000_000, 1_700_000_000_042, "", "", "Exit", "Database")
    assert collector.store.segments == [Segment("t", f"s{number}", "", "", (span,)) for number in (1, 2, 3)]


async def test_the_other_signals(served: Served) -> None:
    collector, client = served
    log = {
        "timestamp": 5, "service": "shop", "serviceInstance": "i1", "endpoint": "/a", "body": {"text": {"text": "hi"}},
        "traceContext": {"traceId": "t", "traceSegmentId": "s1", "spanId": 1},
        "tags": {"data": [{"key": "level", "value": "INFO"}]},
    }  # fmt: skip
    event = {"uuid": "u", "source": {"service": "shop"}, "name": "Start", "type": "Error", "parameters": {"a": "b"}}
    me = {"service": "shop", "serviceInstance": "i1"}
    properties = {**me, "properties": [{"key": "language", "value": "python"}]}
    for path, body in (
        ("/v3/logs", [log]),
        ("/v3/events", [event]),
        ("/v3/management/reportProperties", properties),
        ("/v3/management/keepAlive", me),
    ):
        answer = await client.post(path, json=body)
        assert (answer.status_code, answer.json()) == (200, {}), path
    store = collector.store
    assert [(each.content, each.trace_id, each.span_id, each.tags) for each in store.logs] == [
        ("hi", "t", 1, (("level", "INFO"),))
    ]
    assert [(each.kind, dict(each.parameters)) for each in store.records(Event)] == [("Error", {"a": "b"})]
    [instance] = store.instances
    assert (instance.properties, instance.keep_alives) == ((("language", "python"),), 1)


DEEP = b"[" * 100_000


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        pytest.param("/v3/segments", b"", "no JSON", id="nothing"),
        pytest.param("/v3/segments", b"{", "no JSON", id="cut short"),
        pytest.param("/v3/segments", b"\xff", "no JSON", id="not UTF-8"),
        pytest.param("/v3/segments", DEEP, "no JSON", id="nested without end"),
        pytest.param("/v3/segments", b"{}", "array of SegmentObject", id="no list"),
        pytest.param("/v3/segments", b"[3]", "JSON object", id="a number"),
        pytest.param("/v3/segment", b"[]", "JSON object", id="a list"),
        pytest.param("/v3/segments", b'[{"spans": 3}]', "SegmentObject", id="spans are no list"),
        pytest.param("/v3/segments", b'[{"spans": [{"spanId": "x"}]}]', "SegmentObject", id="text for a number"),
        pytest.param("/v3/segments", b'[{"spans": [{"spanId": 1e99}]}]', "SegmentObject", id="number too large"),
        pytest.param("/v3/segments", b'[{"traceId": "\\ud800"}]', "SegmentObject", id="half a character"),
        pytest.param("/v3/segment", b'{"\\ud800": 1}', "SegmentObject", id="half a character as a name"),
        pytest.param("/v3/events", b'[{"type": "\\ud800"}]', "Event", id="half a character as a kind"),
        pytest.param(
            "/v3/segment", b'{"spans": [{"\\ud800": 1}]}', "SegmentObject", id="in the name of a span's field"
        ),
        pytest.param("/v3/logs", b'[{"body": {"text": {"text": "a"}, "json": {"json": "b"}}}]', "LogData", id="oneof"),
    ],
)
async def test_a_body_that_is_no_message_is_refused(served: Served, path: str, body: bytes, words: str) -> None:
    collector, client = served
    answer = await client.post(path, content=body)
    assert answer.status_code == 400
    assert words in answer.json()["error"]
    assert collector.store.statistics().received.total() == 0
    assert (await client.post("/v3/segment", json=SEGMENT)).status_code == 200


async def test_a_list_is_taken_whole_or_not_at_all(served: Served) -> None:
    collector, client = served
    assert (await client.post("/v3/segments", json=[SEGMENT, {"spans": 1}])).status_code == 400
    assert collector.store.segments == []


async def test_statuses(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    collector, client = served
    monkeypatch.setattr("swagent.collector.intake.bodies.MAX_BODY", 100)
    answers: dict[int, Any] = {
        404: await client.post("/v3/meters", json=[]),
        405: await client.get("/v3/segments"),
        413: await client.post("/v3/segments", content=b"[" + b" " * 200),
        415: await client.post("/v3/segments", content=b"x", headers={"content-encoding": "gzip"}),
        403: await client.post("/v3/segments", content=b"[]", headers={"origin": f"http://{collector.http_address}"}),
    }
    assert {answer.status_code for answer in answers.values()} == set(answers)
    for status, answer in answers.items():
        assert answer.status_code == status
        assert answer.json()["error"], "every refusal says why"
    assert "/v3/segments" in answers[404].json()["error"]
