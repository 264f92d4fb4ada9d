"""Traces leave as a file, come back, and are what they were."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import httpx
import pytest

from collector.served import START, line, serving, shop_and_stock
from swagent.collector.exchange import export as export_module
from swagent.collector.intake.json_pieces import read_object
from swagent.collector.store.limits import Limits
from swagent.collector.store.records import LogLine
from swagent.collector.store.store import Store
from swagent.collector.store.trace_records import Reference, Segment, Span, SpanLog

pytestmark = pytest.mark.anyio
JSON = {"content-type": "application/json"}


def odd_trace() -> Segment:
    """One that has everything a segment can have, and text of all kinds."""
    reference = Reference("CrossThread", "odd", "s-0", 3, "über", "i", '/"quoted"', "a:1")
    log = SpanLog(START + 1, (("event", "error"), ("stack", 'File "x"\n\tline 1\u2028')))
    spans = tuple(
        Span(
            number, number - 1, START, START + 2**40, "名\u0000]},{[\\", "peer", "Exit", "17", 9, True,
            (("k", ""), ("k", "twice")), (log,), (reference, replace(reference, kind="CrossProcess")), True,
        )
        for number in range(120)
    )  # fmt: skip
    return Segment("odd", "s-1", "über", "", spans, is_size_limited=True)


def filled() -> Store:
    store = Store()
    for number in range(3):
        for segment in shop_and_stock(number, error=number == 1):
            store.add(segment)
        store.add(line(number, "INFO", f"trace-{number}"))
    store.add(odd_trace())
    store.add(LogLine(START, "shop", "", "", "json", '{"a": [1]}', (), "GENERAL", "odd"))
    return store


async def exported(client: httpx.AsyncClient, **parameters: Any) -> bytes:
    answer = await client.get("/api/export", params=parameters)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-disposition"].startswith("attachment; ")
    return answer.content


async def test_a_trace_comes_back_as_it_left() -> None:
    async with serving(filled()) as (collector, client):
        file = await exported(client)
        segments, logs = sorted(collector.store.segments, key=repr), sorted(collector.store.logs, key=repr)
    async with serving() as (collector, client):
        answer = await client.post("/api/import", content=file, headers=JSON)
        assert answer.status_code == 200, answer.text
        assert {**answer.json(), "traces": 0} == {"traces": 0, "trace_count": 4, "segments": 7, "logs": 4, "known": 0}
        assert set(answer.json()["traces"]) == {"odd", "trace-0", "trace-1", "trace-2"}
        assert sorted(collector.store.segments, key=repr) == segments
        assert sorted(collector.store.logs, key=repr) == logs
        assert json.loads(file)["left_out"] == 0


async def test_one_trace_or_those_that_match() -> None:
    async with serving(filled()) as (_, client):
        one = json.loads(await exported(client, trace_id="trace-1"))
        assert (one["format"], one["version"]) == ("swagent-traces", 1)
        assert {each["traceId"] for each in one["segments"]} == {"trace-1"}
        assert [each["traceContext"]["traceId"] for each in one["logs"]] == ["trace-1"]
        failed = json.loads(await exported(client, errors=1, service="shop"))
        assert {each["traceId"] for each in failed["segments"]} == {"trace-1"}
        newest = json.loads(await exported(client, service="shop", limit=2))
        assert {each["traceId"] for each in newest["segments"]} == {"trace-2", "trace-1"}
        assert (await client.get("/api/export", params={"trace_id": "nobody"})).status_code == 404
        assert (await client.get("/api/export", params={"limit": "x"})).status_code == 400


async def test_segments_and_logs_are_what_the_protocol_takes() -> None:
    async with serving(filled()) as (_, client):
        file = json.loads(await exported(client))
    async with serving() as (collector, _), httpx.AsyncClient(trust_env=False) as agent:
        for path in ("segments", "logs"):
            answer = await agent.post(f"http://{collector.http_address}/v3/{path}", json=file[path])
            assert answer.status_code == 200, answer.text
        assert len(collector.store.segments) == 7
        assert len(collector.store.logs) == 4


async def test_a_trace_that_is_kept_is_not_taken_again_and_one_that_fell_out_is() -> None:
    store = Store(limits=Limits(segments=4))
    for number in range(2):
        for segment in shop_and_stock(number):
            store.add(segment)
        store.add(line(number, "INFO", f"trace-{number}"))
    async with serving(store) as (_, client):
        file = await exported(client)
        again = (await client.post("/api/import", content=file, headers=JSON)).json()
        assert (again["segments"], again["logs"], again["known"]) == (0, 0, 4)
        assert len(store.logs) == 2
        for segment in (*shop_and_stock(8), *shop_and_stock(9)):
            store.add(segment)
        assert store.trace("trace-0") == []
        back = (await client.post("/api/import", content=file, headers=JSON)).json()
        assert (back["segments"], back["logs"], back["known"]) == (4, 0, 0)
        assert len(store.trace("trace-0")) == 2


async def test_a_file_is_no_sign_of_life() -> None:
    async with serving(filled()) as (_, client):
        file = await exported(client)
    async with serving() as (collector, client):
        assert (await client.post("/api/import", content=file, headers=JSON)).status_code == 200
        assert collector.store.seen() == {}
        assert (await client.get("/api/processes")).json()["processes"] == []
        assert (await client.get("/api/traces")).json()["total"] == 4


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"no json", 400, "the file is no JSON"),
        (b"[]", 400, "a JSON object is needed"),
        (b"{}", 400, 'its "format" is not'),
        (b'{"format":"swagent-traces","version":2}', 400, "not of 2"),
        (b'{"format":"swagent-traces","version":1,"segments":{}}', 400, "are lists"),
        (b'{"format":"swagent-traces","version":1,"segments":[3]}', 400, "malformed SegmentObject"),
        (b'{"format":"swagent-traces","version":1,"segments":[{"spans":[{"spanId":"x"}]}]}', 400, "malformed"),
        (b'{"format":"swagent-traces","version":1,"logs":[{"timestamp":{}}]}', 400, "malformed LogData"),
        (b'{"format":"swagent-traces","version":1,"segments":[', 400, "has no end"),
        (b'{"format":"swagent-traces","version":1} {}', 400, "ends before the body does"),
        (b'{[1,2]:3}', 400, "has no name"),
        (b'{"format":"swagent-traces","version":1,"segments":[' + b"{}," * 10_001 + b"{}]}", 413, "more than 10,000"),
        (b'{"format":"swagent-traces","version":1,"x":"' + b"a" * 1_100_000 + b'"}', 413, "characters"),
        (b" " * 16 * 1024 * 1024 + b"{}", 413, "larger than"),
    ],
)  # fmt: skip
async def test_a_file_that_is_none_of_traces_is_refused_whole(body: bytes, status: int, words: str) -> None:
    async with serving() as (collector, client):
        answer = await client.post("/api/import", content=body, headers=JSON)
        assert (answer.status_code, words in answer.json()["error"]) == (status, True), answer.text
        assert collector.store.segments == []


async def test_one_bad_element_leaves_all_out() -> None:
    async with serving(filled()) as (_, client):
        file = json.loads(await exported(client))
    file["logs"].append({"timestamp": "x"})
    async with serving() as (collector, client):
        assert (await client.post("/api/import", json=file)).status_code == 400
        assert collector.store.segments == []


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://{}", **JSON}, 200),
        ({"content-type": "application/json; charset=utf-8"}, 200),
        ({"origin": "http://evil.example", **JSON}, 403),
        ({"origin": "null", **JSON}, 403),
        ({"host": "evil.example", **JSON}, 403),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ({"content-encoding": "gzip", **JSON}, 415),
    ],
)
async def test_only_the_page_itself_and_local_tools_may_bring_a_file(headers: dict[str, str], status: int) -> None:
    async with serving(filled()) as (_, client):
        file = await exported(client)
    async with serving() as (collector, client):
        own = {name: value.format(collector.page_address) for name, value in headers.items()}
        answer = await client.post("/api/import", content=file, headers=own)
        assert answer.status_code == status, answer.text
        assert bool(collector.store.segments) == (status == 200)
        assert (await client.put("/api/import", content=file, headers=JSON)).status_code == 405
        assert (await client.get("/api/import")).status_code == 405
        assert (await client.post("/api/export", content=file, headers=JSON)).status_code == 405


async def test_a_trace_that_would_not_come_back_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_module, "MAX_ELEMENT", 5000)  # the odd trace is larger
    async with serving(filled()) as (_, client):
        file = json.loads(await exported(client))
        assert (file["left_out"], len(file["segments"])) == (1, 6)
        monkeypatch.setattr(export_module, "MAX_ELEMENTS", 3)
        file = json.loads(await exported(client))
        assert (file["left_out"], len(file["segments"])) == (3, 2)
        monkeypatch.setattr(export_module, "MAX_BODY", 2 * 1024)
        file = json.loads(await exported(client))
        assert (file["left_out"], file["segments"]) == (4, [])


def _made_up(chance: random.Random, depth: int = 0) -> Any:
    kind = chance.randrange(4 if depth > 3 else 6)
    if kind == 4:
        return [_made_up(chance, depth + 1) for _ in range(chance.randrange(4))]
    if kind == 5:
        return {f'k"{number}\\]}}': _made_up(chance, depth + 1) for number in range(chance.randrange(4))}
    return (None, chance.random(), chance.randrange(10**20), "".join(chance.choices('a"\\[]{},:ü\n', k=6)))[kind]


@pytest.mark.parametrize("seed", range(30))
def test_an_object_is_read_as_the_parser_does(seed: int) -> None:
    chance = random.Random(seed)
    value = {f"member {number}": _made_up(chance) for number in range(seed % 5)}
    for text in (json.dumps(value), json.dumps(value, indent=1, ensure_ascii=False)):
        assert read_object(f" {text}\n".encode()) == value
