"""A trace that was seen in the browser, as what a test expects."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from collector.served import line, serving, shop_and_stock
from swagent.collector.store.trace_records import Segment
from swagent.testing import load_traces, outline

OUTLINE = """\
shop entry /orders
    shop exit /stock -> stock:80
        stock entry /stock
            stock exit SELECT -> db:5432"""


@pytest.fixture
def anyio_backend() -> str:
    """The collector is asyncio only."""
    return "asyncio"


async def saved(tmp_path: Path) -> Path:
    """As the page saves it."""
    async with serving() as (collector, client):
        for number in range(2):
            for segment in shop_and_stock(number, error=number == 1):
                collector.store.add(segment)
        collector.store.add(line(0, "INFO", "trace-0"))
        answer = await client.get("/api/export", params={"limit": 10})
    path = tmp_path / "traces.json"
    path.write_bytes(answer.content)
    return path


@pytest.mark.anyio
async def test_a_file_holds_what_was_kept(tmp_path: Path) -> None:
    loaded = load_traces(await saved(tmp_path))
    assert set(loaded.trace_ids) == {"trace-0", "trace-1"}
    assert loaded.trace("trace-0") == shop_and_stock(0)
    assert (len(loaded.segments), len(loaded.spans), loaded.trace("nothing")) == (4, 8, [])
    assert loaded.logs == [line(0, "INFO", "trace-0")]


@pytest.mark.anyio
async def test_two_runs_of_a_request_have_one_outline(tmp_path: Path) -> None:
    loaded = load_traces(str(await saved(tmp_path)))
    assert outline(loaded.trace("trace-0")) == OUTLINE
    assert outline(shop_and_stock(7)) == OUTLINE
    failed = OUTLINE.replace("/orders", "/orders FAILED").replace("entry /stock", "entry /stock FAILED")
    assert outline(loaded.trace("trace-1")) == failed
    assert outline(shop_and_stock(3), tags=["item"], peers=False).splitlines()[1] == "    shop exit /stock item=Lamp 3"


def test_siblings_that_began_in_another_order_have_the_same_outline() -> None:
    [stock, shop] = shop_and_stock(0)
    twin = replace(shop.spans[0], span_id=2, operation="/another", start_time=shop.spans[0].start_time + 1)
    later = replace(twin, start_time=twin.start_time - 2)
    one, other = (replace(shop, spans=(*shop.spans, each)) for each in (twin, later))
    assert outline([stock, one]) == outline([other, stock])
    assert outline([one]).splitlines()[1:] == ["    shop exit /another -> stock:80", "    shop exit /stock -> stock:80"]


@pytest.mark.slow
def test_a_deep_trace_has_an_outline() -> None:
    [_, shop] = shop_and_stock(0)
    [call, root] = shop.spans
    spans = tuple(replace(call, span_id=number, parent_span_id=number - 1) for number in range(1, 3000))
    assert len(outline([Segment("t", "s", "shop", "i", (root, *spans))]).splitlines()) == 3000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is no JSON"),
        ("[]", "a JSON object is needed"),
        ('{"format": "har"}', 'its "format" is not'),
        ('{"format": "swagent-traces", "version": 9}', "not of 9"),
        ('{"format": "swagent-traces", "version": 1, "segments": [{"spans": 3}]}', "malformed SegmentObject"),
    ],
)
def test_a_file_that_is_none_of_traces_is_refused(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=words) as error:
        load_traces(path)
    assert str(path) in str(error.value)
    with pytest.raises(FileNotFoundError):
        load_traces(tmp_path / "missing.json")


def test_without_the_extra_it_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['google.protobuf'] = None\nfrom swagent.testing import load_traces\nload_traces('x')"
    )
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environ, capture_output=True, text=True, timeout=50, check=False
    )
    assert "ModuleNotFoundError" in done.stderr
    assert "pip install 'swagent[collector]'" in done.stderr


@pytest.mark.anyio
async def test_a_file_can_be_written_by_hand(tmp_path: Path) -> None:
    value = {"format": "swagent-traces", "version": 1, "segments": [{"traceId": "t", "service": "shop"}]}
    path = tmp_path / "hand.json"
    path.write_text(json.dumps(value))
    assert load_traces(path).segments == [Segment("t", "", "shop", "", ())]
    async with serving() as (collector, _), httpx.AsyncClient(trust_env=False) as client:
        answer = await client.post(f"http://{collector.page_address}/api/import", json=value)
        assert answer.json()["segments"] == 1
