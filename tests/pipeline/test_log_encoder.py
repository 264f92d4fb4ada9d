"""A log record's bytes say what the codec's whole encoding says, whatever it holds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from swagent.pipeline.encoder import Encoder
from swagent.pipeline.log_encoder import LogEncoder
from swagent.record.logs.entry import LogEntry
from swagent.record.logs.layout import Layout
from swagent.record.logs.origin import NOWHERE
from swagent.record.logs.plain import NO_MORE, PlainRecord
from swagent.record.logs.settings import LogSettings
from swagent_proto.messages import LogData

ODD = ["~~", "<~", "100%", "%b", "^", "\ud800", "two\nlines", 200 * "x", 37 * "é"]
TEXTS = st.text(max_size=20) | st.sampled_from(ODD)
LAYOUT = Layout(LogSettings())
NOW = 1_790_000_000_123
IDS = st.sampled_from(["", "~", "<~~", "^^", "%", 126 * "a", 37 * "b", 32 * "f", "a.b.1", "träce"])
TAGS = st.lists(st.tuples(st.sampled_from(["level", "logger", "task", "%s"]), TEXTS), max_size=4)


@pytest.mark.gate
@settings(deadline=None)
@given(
    several=st.lists(
        st.builds(LogEntry, st.sampled_from([0, 1, NOW]), TEXTS, TAGS, TEXTS, IDS, IDS, st.integers(-1, 200)),
        max_size=3,
    )
)
@example(several=[LogEntry(1, "text", [("task", "Task-7")], "/", 37 * "%", "b", 37)])
def test_whatever_it_holds(several: list[LogEntry]) -> None:
    encoder = Encoder("protobuf", "shop", "one")
    encode = LogEncoder(encoder, LAYOUT).encode
    for _ in range(2):  # the second time all parts are known
        for entry in several:
            assert LogData().parse(encode(entry)) == LogData().parse(encoder.log(entry))


def test_a_usual_record_takes_no_whole_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = Encoder("protobuf", "shop", "one")
    encode = LogEncoder(encoder, LAYOUT).encode
    monkeypatch.setattr(encoder, "log", None)
    tags = [("level", "WARNING"), ("logger", "shop"), ("thread", "MainThread"), ("task", "Task-7")]
    entry = LogEntry(NOW, "sold out", tags, "GET:/items/{id}", 32 * "a", "a.1.2", 0)
    assert LogData().parse(encode(entry)).tags.data[3].value == "Task-7"


def test_json_is_encoded_as_a_whole() -> None:
    encoder = Encoder("json", "shop", "one")
    entry = LogEntry(NOW, "sold out", [], "GET:/items/{id}", 32 * "a", "a.1.2", 0)
    assert LogEncoder(encoder, LAYOUT).encode(entry) == encoder.log(entry)


LAYOUTS = st.sampled_from([LogSettings().layout, "%(message)s", "%(lineno)s %(message)s %(lineno)s", "nothing"])
ODD_ONES = st.sampled_from([None, 7, "é\n", "\x1b[0m", 3000 * "x"])
SECONDS = st.sampled_from([0.001, NOW / 1000, 2.0**33 - 1])


@pytest.mark.gate
@settings(deadline=None, max_examples=50)
@given(data=st.data(), layout=LAYOUTS)
def test_plain_records_of_a_group_are_each_encoded_as_alone(data: st.DataObject, layout: str) -> None:
    made = Layout(LogSettings(layout=layout))
    more = st.tuples(ODD_ONES) if made.more else st.just(NO_MORE)
    origins = st.tuples(TEXTS, IDS.filter(bool), IDS.filter(bool), st.integers(0, 200)) | st.just(NOWHERE)
    milliseconds = st.sampled_from([0.0, 123.0, 999.9])
    row = st.builds(PlainRecord, TEXTS, TEXTS, TEXTS, SECONDS, milliseconds, TEXTS, more, TEXTS, origins)
    several = data.draw(st.lists(row, min_size=1, max_size=4))
    encoder = LogEncoder(Encoder("protobuf", "shop", "one"), made)
    for _ in range(2):  # the second time all parts are known
        encoded = encoder.encode_alike(list(zip(*several, strict=True)))
        for plain, payload in zip(several, encoded, strict=True):
            if payload is not None:
                assert LogData().parse(payload) == LogData().parse(encoder.encode_plain(plain))
        for plain in several:
            whole = Encoder("protobuf", "shop", "one").log(made.entry(plain))
            assert LogData().parse(encoder.encode_plain(plain)) == LogData().parse(whole)


def usual(**parts: Any) -> PlainRecord:
    origin = "GET:/items/{id}", 32 * "a", "a.1.2", 0
    made = PlainRecord("WARNING", "shop", "MainThread", NOW / 1000, 123.0, "sold out", NO_MORE, "Task-7", origin)
    return made._replace(**parts)


def test_usual_records_are_encoded_as_a_group() -> None:
    encoder = LogEncoder(Encoder("protobuf", "shop", "one"), LAYOUT)
    several = [
        usual(message="sold out\nor nearly"),
        usual(message="\x1b[0m"),
        usual(message="träge"),
        usual(task="träge"),
        usual(task="", origin=NOWHERE),
    ]
    first, control, foreign, named, nowhere = encoder.encode_alike(list(zip(*several, strict=True)))
    assert first is not None
    assert LogData().parse(first).tags.data[3].value == "Task-7"
    assert control is None
    assert foreign is not None
    assert named is not None
    assert LogData().parse(named).tags.data[3].value == "träge"
    assert LogData().parse(foreign).body.text.text.endswith(" - träge")
    assert nowhere is not None
    assert LogData().parse(nowhere).trace_context.trace_id == ""
    assert None not in encoder.encode_alike([(each, each) for each in usual()])


def test_a_record_without_a_time_is_encoded_all_the_same() -> None:
    encoder = LogEncoder(Encoder("protobuf", "shop", "one"), LAYOUT)
    timeless = usual(created=float("nan"))
    assert encoder.encode_alike(list(zip(usual(), timeless, strict=True)))[1] is None
    assert "cannot be read: ValueError" in LogData().parse(encoder.encode_plain(timeless)).body.text.text


class Request:
    """Knows its place, or that it has none."""

    def __init__(self, *place: Any) -> None:
        self.place = place

    def late_origin(self) -> Any:
        return self.place or None


def test_a_request_is_asked_for_its_place_when_its_records_are_encoded() -> None:
    encoder = LogEncoder(Encoder("protobuf", "shop", "one"), LAYOUT)
    several = [usual(origin=Request("GET:/late", 32 * "b", "b.1.2", 0)), usual(origin=Request())]
    placed, nowhere = (LogData().parse(each or b"") for each in encoder.encode_alike(list(zip(*several, strict=True))))
    assert (placed.endpoint, placed.trace_context.trace_id) == ("GET:/late", 32 * "b")
    assert (nowhere.endpoint, nowhere.trace_context.trace_id) == ("", "")


def test_plain_records_in_json_are_encoded_by_themselves() -> None:
    encoder = LogEncoder(Encoder("json", "shop", "one"), LAYOUT)
    assert encoder.encode_alike([("", "")]) == [None, None]
