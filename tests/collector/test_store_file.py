"""A store in a file: acknowledged records outlive the process; a file that cannot be opened or written is an error."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import sqlite3
import sys
from pathlib import Path

import pytest
from grpclib.client import Channel
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from collector.served import channel_to
from swagent.collector.server import Collector
from swagent.collector.store import contents, ring
from swagent.collector.store.database import StoreError
from swagent.collector.store.limits import Limits
from swagent.collector.store.records import Event, KeepAlive, LogLine, Meter, Properties, Record, ThreadSnapshot
from swagent.collector.store.store import Store
from swagent.collector.store.trace_records import Segment, Span
from swagent_proto import messages as wire

pytestmark = pytest.mark.anyio
RECORDS: list[Record] = [
    LogLine(5, "shop", "i1", "/a", "text", "hello", (("level", "warning"), ("é", "\x00")), "", "t", "s1", 4),
    Meter("shop", "i1", "m", (("k", "v"),), 7, 1.5),
    Meter("shop", "i1", "m", (("k", "v"),), 8, 2.5),
    Meter("shop", "i1", "h", (), 7, None, ((-math.inf, 1), (10.0, 2))),
    Event("u", "shop", "i1", "/e", "Start", "Error", "text", {"a": "b"}, 1, 2, "L"),
    ThreadSnapshot("task", "s1", 9, 2, ("outer", "inner")),
    Properties("shop", "i1", (("language", "python"),), "GENERAL"),
    KeepAlive("shop", "i1", "GENERAL"),
]


def segment(number: int, service: str = "shop") -> Segment:
    span = Span(0, -1, 1000 + number, 1010 + number, f"/{number}", kind="Entry", tags=(("a", "1"),))
    return Segment(f"t{number}", f"s{number}", service, "i1", (span,))


async def test_a_restart_keeps_all(tmp_path: Path) -> None:
    path = str(tmp_path / "store.db")
    store = Store(path=path)
    for record in (*RECORDS, segment(1), segment(2)):
        store.add(record)
    store.add(Event("v", "shop", "i2", "", "Shutdown", "Normal", "m", {}, 5, 5, ""))
    store.set_offset("broker", "topic", 1, 77, store.losses)
    seen = store.seen()
    store.close()
    again = Store(path=path)
    assert again.segments == [segment(1), segment(2)]
    assert again.trace("t2") == [segment(2)]
    assert again.logs == [RECORDS[0]]
    assert again.meters == [RECORDS[2], RECORDS[3]]
    assert again.records(Event)[0] == RECORDS[4]
    assert list(again.ended()) == [("shop", "i2")]
    assert again.records(ThreadSnapshot) == [RECORDS[5]]
    assert [(each.properties, each.keep_alives) for each in again.instances] == [((("language", "python"),), 1)]
    assert again.seen() == seen
    assert again.offsets("broker") == {("topic", 1): 77}
    assert again.statistics().services == ("shop",)
    again.add(segment(1))
    again.add(segment(3))
    assert again.statistics().duplicates == 1
    assert [kept.segment_id for kept in again.segments] == ["s1", "s2", "s3"]
    again.close()


@pytest.mark.gate
async def test_acknowledged_segments_survive_sigkill(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    acknowledged: list[str] = []
    for life in range(2):
        options = ("--port", "0", "--http-port", "0", "--no-page", "--quiet", "--store", str(path))
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "swagent.collector", *options, stdout=asyncio.subprocess.PIPE
        )
        assert process.stdout is not None
        port = int((await process.stdout.readline()).decode().rsplit(":", 1)[1])
        enough = asyncio.Event()
        senders = [asyncio.create_task(send(port, f"{life}.{number}", acknowledged, enough)) for number in range(4)]
        await asyncio.wait_for(enough.wait(), 20)
        os.kill(process.pid, signal.SIGKILL)
        await process.wait()
        await asyncio.gather(*senders)
        enough.clear()
    store = Store(path=str(path))
    kept = [each.segment_id for each in store.segments]
    store.close()
    assert len(acknowledged) >= 400
    assert set(acknowledged) <= set(kept)
    assert len(kept) == len(set(kept))


async def send(port: int, name: str, acknowledged: list[str], enough: asyncio.Event) -> None:
    """Send until the peer dies."""
    goal = len(acknowledged) + 200
    async with Channel("127.0.0.1", port) as channel:
        stub = wire.TraceSegmentReportServiceStub(channel)
        for number in range(1_000_000):
            ids = [f"{name}.{number}.{each}" for each in range(5)]
            try:
                await stub.collect([wire.SegmentObject("t", each) for each in ids], timeout=5)
            except Exception:  # noqa: BLE001, RUF100  (whatever a peer's death looks like)
                return
            acknowledged += ids
            if len(acknowledged) >= goal:
                enough.set()


async def test_records_fall_out_by_age() -> None:
    now = 1000.0
    store = Store(limits=Limits(max_age=60.0), clock=lambda: now)
    store.add(segment(1))
    store.add(RECORDS[0])
    now = 1050.0
    store.add(segment(2))
    store.add(RECORDS[1])
    store.expire()
    assert len(store.segments) == 2
    now = 1070.0
    version = store.version
    store.expire()
    assert ([kept.segment_id for kept in store.segments], store.logs) == (["s2"], [])
    assert store.dropped() == (2, 0)
    assert store.version > version
    assert store.read("SELECT count(*) FROM bodies") == store.read("SELECT count(*) FROM calls") == [(1,)]
    now = 2000.0
    store.expire()
    assert store.counts() == {"segments": 0, "logs": 0, "meters": 0, "snapshots": 0, "events": 0, "others": 0}
    assert store.meters == []
    store.add(RECORDS[1])
    assert store.meters == [RECORDS[1]]
    assert store.read("SELECT count(*) FROM series") == [(1,)]


async def test_much_falls_out_by_age_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ring, "STEP", 10)
    monkeypatch.setattr(contents, "STEP", 10)
    now = 1000.0
    store = Store(limits=Limits(max_age=60.0), clock=lambda: now)
    for number in range(25):
        store.add(segment(number))
    now = 1030.0
    store.add(segment(25))
    assert not store.expire()
    now = 1070.0
    kept = [len(store.segments) for _ in range(3) if store.expire() or True]
    assert kept == [16, 6, 1]
    assert not store.expire()
    assert store.dropped() == (25, 0)


async def test_narrower_limits_hold_from_the_start(tmp_path: Path) -> None:
    path = str(tmp_path / "store.db")
    store = Store(path=path)
    for number in range(10):
        store.add(segment(number))
        store.add(Meter("shop", "i1", f"m{number}", (), 7, 1.5))
    store.close()
    for limit, kept in ((4, 4), (20, 4)):
        store = Store(path=path, limits=Limits(segments=limit, points=limit))
        assert store.counts()["segments"] == store.counts()["meters"] == kept
        assert [each.segment_id for each in store.segments] == ["s6", "s7", "s8", "s9"]
        store.close()
    store = Store(path=path)
    assert store.read("SELECT name FROM series ORDER BY id") == [(f"m{number}",) for number in range(6, 10)]
    store.add(segment(10))
    assert len(store.segments) == 5
    store.close()


async def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    garbage, foreign, held = (tmp_path / name for name in ("garbage", "foreign", "held"))
    garbage.write_bytes(b"no database at all, but long enough to be taken for one" * 20)
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE mine (a)")
    connection.close()
    for path, words in ((garbage, "not a database"), (foreign, "no store"), (tmp_path / "no" / "x", "unable to open")):
        with pytest.raises(StoreError, match=words):
            Store(path=str(path))
    assert foreign.read_bytes()[:6] == b"SQLite"
    holder = Store(path=str(held))
    with pytest.raises(StoreError, match="locked"):
        Store(path=str(held))
    holder.close()
    Store(path=str(held)).close()


async def test_a_full_disk_is_answered_and_nothing_is_acknowledged(tmp_path: Path) -> None:
    store = Store(path=str(tmp_path / "store.db"))
    async with Collector(store=store) as collector, channel_to(collector) as channel:
        stub = wire.TraceSegmentReportServiceStub(channel)
        await stub.collect([wire.SegmentObject("t", "before")])
        store.read("PRAGMA max_page_count=1")  # as many as there are: no room for another
        large = wire.SegmentObject("t", "large", [wire.SpanObject(operation_name="x" * 500_000)])
        with pytest.raises(GRPCError) as refused:
            await stub.collect([large])
        assert refused.value.status is Status.UNAVAILABLE
        assert "full" in (refused.value.message or "")
        store.read("PRAGMA max_page_count=100000")
        await stub.collect([large])
    assert [kept.segment_id for kept in store.segments] == ["before", "large"]
    assert store.statistics().duplicates == 0, "what was refused is no duplicate when it comes again"
    store.close()
