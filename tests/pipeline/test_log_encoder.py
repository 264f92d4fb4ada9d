"""A log record's bytes say what the codec's whole encoding says, whatever it holds."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from swagent.pipeline.encoder import Encoder
from swagent.pipeline.log_encoder import log_encoding
from swagent.record.logs.entry import LogEntry
from swagent_proto.messages import LogData

ODD = ["~~", "<~", "100%", "%b", "^", "\ud800", "two\nlines", 200 * "x", 37 * "é"]
TEXTS = st.text(max_size=20) | st.sampled_from(ODD)
NOW = 1_790_000_000_123
IDS = st.sampled_from(["", "~", "<~~", "^^", "%", 126 * "a", 37 * "b", 32 * "f", "a.b.1", "träce"])
TAGS = st.lists(st.tuples(st.sampled_from(["level", "logger", "task", "%s"]), TEXTS), max_size=4)


@given(
    several=st.lists(
        st.builds(LogEntry, st.sampled_from([0, 1, NOW]), TEXTS, TAGS, TEXTS, IDS, IDS, st.integers(-1, 200)),
        max_size=3,
    )
)
@example(several=[LogEntry(1, "text", [("task", "Task-7")], "/", 37 * "%", "b", 37)])
def test_whatever_it_holds(several: list[LogEntry]) -> None:
    encoder = Encoder("protobuf", "shop", "one")
    encode = log_encoding(encoder)
    for _ in range(2):  # the second time all parts are known
        for entry in several:
            assert LogData().parse(encode(entry)) == LogData().parse(encoder.log(entry))


def test_a_usual_record_takes_no_whole_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = Encoder("protobuf", "shop", "one")
    encode = log_encoding(encoder)
    monkeypatch.setattr(encoder, "log", None)
    tags = [("level", "WARNING"), ("logger", "shop"), ("thread", "MainThread"), ("task", "Task-7")]
    entry = LogEntry(NOW, "sold out", tags, "GET:/items/{id}", 32 * "a", "a.1.2", 0)
    assert LogData().parse(encode(entry)).tags.data[3].value == "Task-7"


def test_json_is_encoded_as_a_whole() -> None:
    encoder = Encoder("json", "shop", "one")
    assert log_encoding(encoder) == encoder.log
