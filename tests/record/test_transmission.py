"""How long a message was on its way: by its sender's header, by its broker's record, and where it is not known."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from swagent import exit_span
from swagent.messages import consume
from swagent.record.trace.transmission import latency_of, read_sent_time, time_of_stream_id, write_sent_time

from .recorded import Recorder, recording

SENT = 1_700_000_000_000
BIG = "1" * 4096


_READ = ["0-1700000000000", "1-1700000000000", "-1700000000000", b"0-1700000000000"]
_ABSENT = [
    "0- ", "0-", "0", "0-0", "0--1700000000000", "0-1.7e12", "0-\u0661\u0667\u0660\u0660", f"0-{BIG}",
    f"0-{BIG}".encode(), b"\xff-\xff", 17, None,
]  # fmt: skip


@pytest.mark.parametrize("header", [*_READ, *_ABSENT], ids=lambda header: repr(header)[:24])
def test_a_header_is_read_or_counts_as_absent(header: object) -> None:
    assert read_sent_time(header) == (SENT if header in _READ else None)


@pytest.mark.parametrize(
    ("value", "sent"),
    [("1700000000000-0", SENT), (b"1700000000000-17", SENT), ("1700000000000", None), ("a-0", None), (7, None)],
)
def test_an_entry_of_a_redis_stream_has_its_time_in_its_id(value: object, sent: int | None) -> None:
    assert time_of_stream_id(value) == sent
    assert read_sent_time(write_sent_time(SENT / 1000 + 0.0005)) == SENT, "what is written is read again"


@pytest.mark.parametrize(
    ("sent", "latency"),
    [([], None), ([None], None), ([0], 250), ([250], 0), ([251], None), ([200, None, 0, 9000], 250)],
)
def test_the_longest_counts_and_none_that_came_before_it_was_sent(sent: list[int | None], latency: int | None) -> None:
    times = [None if each is None else SENT + each for each in sent]
    assert latency_of(times, SENT / 1000 + 0.25) == latency


def kafka(timestamp: Any, timestamp_type: Any = 0, headers: Any = ()) -> SimpleNamespace:
    return SimpleNamespace(topic="orders", headers=headers, timestamp=timestamp, timestamp_type=timestamp_type)


HOUR = 3_600_000


def hours_ago(hours: int) -> int:
    return int(time.time() * 1000) - hours * HOUR


async def _each(*messages: Any) -> AsyncIterator[Any]:
    for message in messages:
        yield message


async def _hours(recorder: Recorder, message: Any) -> int | None:
    """The whole hours of what is tagged."""
    async for _ in consume(_each(message)):
        pass
    latency = dict(recorder.only.spans[0].tags).get("transmission.latency")
    return None if latency is None else int(latency) // HOUR


HEADER = {"sw8-x": f"0-{hours_ago(3)}"}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("message", "hours"),
    [
        (kafka(hours_ago(1)), 1),
        (kafka(hours_ago(1), 1), 1),
        (kafka(hours_ago(-1)), None),
        (kafka(-1), None),
        (kafka(None), None),
        (kafka(hours_ago(1), None), None),
        (kafka(time.time() - 7200), None),
        (kafka(hours_ago(1), headers=HEADER), 3),
        (kafka(hours_ago(1), headers=[("sw8-x", b"0-%d" % hours_ago(3))]), 3),
        (kafka(hours_ago(1), headers=[("sw8-x", b"odd")]), 1),
        (kafka(hours_ago(1), headers=[*HEADER.items(), *HEADER.items()]), 1),
        ({"headers": HEADER}, 3),
        ({"headers": {"sw8-x": f"0-{hours_ago(-3)}"}}, None),
        ({"headers": {}}, None),
        ((f"{hours_ago(2)}-0", {"total": "1"}), 2),
        ([b"%d-0" % hours_ago(2), {b"total": b"1", b"sw8-x": b"0-%d" % hours_ago(3)}], 3),
        (("orders", {"total": "1"}), None),
    ],
    ids=range(17),
)
async def test_a_message_is_tagged_where_it_is_known(recorder: Recorder, message: Any, hours: int | None) -> None:
    assert await _hours(recorder, message) == hours


@pytest.mark.anyio
async def test_a_sender_that_is_not_trusted_is_not_believed() -> None:
    with recording(trust_incoming=False) as recorder:
        assert await _hours(recorder, kafka(hours_ago(1), headers=HEADER)) == 1


@pytest.mark.anyio
async def test_an_entry_of_a_redis_stream_joins_its_producer_s_trace(recorder: Recorder) -> None:
    with exit_span("send", "redis:6379") as sent:
        fields = {"total": "1", **sent.headers()}
    async for _ in consume(_each((f"{hours_ago(2)}-0", fields))):
        pass
    assert recorder.segments[1].spans[0].refs[0].segment_id == recorder.segments[0].id
