"""Traces leave as a file, come back, and are what they were."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import httpx
import pytest

from collector.made_traces import store_of
from collector.served import START, Api, line, shop_and_stock
from swagent.collector.exchange import export as export_module
from swagent.collector.intake.json_pieces import read_object
from swagent.collector.server import Collector
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
    traces = [[*shop_and_stock(number, error=number == 1)] for number in range(3)]
    store = store_of(*traces, [odd_trace()])
    for number in range(3):
        store.add(line(number, "INFO", f"trace-{number}"))
    store.add(LogLine(START, "shop", "", "", "json", '{"a": [1]}', (), "GENERAL", "odd"))
    return store


async def exported(store: Store, status: int = 200, **parameters: Any) -> bytes:
    answer = await Api(store).client.get("/api/export", params=parameters)
    assert answer.status_code == status, answer.text
    assert status != 200 or answer.headers["content-disposition"].startswith("attachment; ")
    return answer.content


async def imported(store: Store, file: bytes, status: int = 200, **headers: str) -> Any:
    answer = await Api(store).client.post("/api/import", content=file, headers={**JSON, **headers})
    assert answer.status_code == status, answer.text
    return answer.json()


async def test_a_trace_comes_back_as_it_left_and_is_no_sign_of_life() -> None:
    before, after = filled(), Store()
    file = await exported(before)
    assert json.loads(file)["left_out"] == 0
    answer = await imported(after, file)
    assert {**answer, "traces": 0} == {"traces": 0, "trace_count": 4, "segments": 7, "logs": 4, "known": 0}
    assert set(answer["traces"]) == {"odd", "trace-0", "trace-1", "trace-2"}
    assert sorted(after.segments, key=repr) == sorted(before.segments, key=repr)
    assert sorted(after.logs, key=repr) == sorted(before.logs, key=repr)
    assert after.seen() == {}
    api = Api(after)
    assert ((await api("processes"))["processes"], (await api("traces"))["total"]) == ([], 4)


async def test_one_trace_or_those_that_match() -> None:
    store = filled()
    one = json.loads(await exported(store, trace_id="trace-1"))
    assert (one["format"], one["version"]) == ("swagent-traces", 1)
    assert [each["traceContext"]["traceId"] for each in one["logs"]] == ["trace-1"]
    filters: list[tuple[dict[str, Any], set[str]]] = [
        ({"trace_id": "trace-1"}, {"trace-1"}),
        ({"errors": 1, "service": "shop"}, {"trace-1"}),
        ({"service": "shop", "limit": 2}, {"trace-2", "trace-1"}),
    ]
    for parameters, expected in filters:
        file = json.loads(await exported(store, **parameters))
        assert {each["traceId"] for each in file["segments"]} == expected
    await exported(store, 404, trace_id="nobody")
    await exported(store, 400, limit="x")


async def test_segments_and_logs_are_what_the_protocol_takes() -> None:
    before = filled()
    file = json.loads(await exported(before))
    async with Collector(http_port=0) as collector, httpx.AsyncClient(trust_env=False) as agent:
        for path in ("segments", "logs"):
            answer = await agent.post(f"http://{collector.http_address}/v3/{path}", json=file[path])
            assert answer.status_code == 200, answer.text
    for kind in ("segments", "logs"):
        assert sorted(getattr(collector.store, kind), key=repr) == sorted(getattr(before, kind), key=repr)


async def test_a_trace_that_is_kept_is_not_taken_again_and_one_that_fell_out_is() -> None:
    store = Store(limits=Limits(segments=4))
    for number in range(2):
        Api(store).add(*shop_and_stock(number), line(number, "INFO", f"trace-{number}"))
    file = await exported(store)
    again = await imported(store, file)
    assert (again["segments"], again["logs"], again["known"]) == (0, 0, 4)
    assert len(store.logs) == 2
    Api(store).add(*shop_and_stock(8), *shop_and_stock(9))
    assert store.trace("trace-0") == []
    back = await imported(store, file)
    assert (back["segments"], back["logs"], back["known"]) == (4, 0, 0)
    assert len(store.trace("trace-0")) == 2


HEAD = b'{"format":"swagent-traces","version":1'


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"no json", 400, "the file is no JSON"),
        (b"[]", 400, "a JSON object is needed"),
        (b"{}", 400, 'its "format" is not'),
        (b'{"format":"swagent-traces","version":2}', 400, "not of 2"),
        (HEAD + b',"segments":{}}', 400, "are lists"),
        (HEAD + b',"segments":[3]}', 400, "malformed SegmentObject"),
        (HEAD + b',"segments":[{"spans":[{"spanId":"x"}]}]}', 400, "malformed"),
        (HEAD + b',"segments":[{"traceId":"t"}],"logs":[{"timestamp":{}}]}', 400, "malformed LogData"),
        (HEAD + b',"segments":[', 400, "has no end"),
        (HEAD + b"} {}", 400, "ends before the body does"),
        (b"{[1,2]:3}", 400, "has no name"),
        (HEAD + b',"segments":[' + b"{}," * 10_001 + b"{}]}", 413, "more than 10,000"),
        (HEAD + b',"x":"' + b"a" * 1_100_000 + b'"}', 413, "characters"),
        (b" " * 16 * 1024 * 1024 + b"{}", 413, "larger than"),
    ],
    ids=range(14),
)
async def test_a_file_that_is_none_of_traces_is_refused_whole(body: bytes, status: int, words: str) -> None:
    store = Store()
    assert words in (await imported(store, body, status))["error"]
    assert store.segments == []


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://127.0.0.1"}, 200),
        ({"content-type": "application/json; charset=utf-8"}, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"content-type": "text/plain"}, 415),
        ({"content-encoding": "gzip"}, 415),
    ],
)
async def test_only_the_page_itself_and_local_tools_may_bring_a_file(headers: dict[str, str], status: int) -> None:
    store, file = Store(), await exported(filled())
    await imported(store, file, status, **headers)
    assert bool(store.segments) == (status == 200)


async def test_a_trace_that_would_not_come_back_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    store = filled()
    # the odd trace is larger than the first of these
    for name, bound, expected in (
        ("MAX_ELEMENT", 5000, (1, 6)),
        ("MAX_ELEMENTS", 3, (3, 2)),
        ("MAX_BODY", 2048, (4, 0)),
    ):
        monkeypatch.setattr(export_module, name, bound)
        file = json.loads(await exported(store))
        assert (file["left_out"], len(file["segments"])) == expected


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
