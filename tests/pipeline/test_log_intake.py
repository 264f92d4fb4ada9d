"""Log records are pending as what was noted of them, and leave in the order in which they were logged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.channels import AMPLE, channel_of
from swagent.agent_log import RateLimitedLog
from swagent.pipeline.log_intake import LOGS, LogIntake
from swagent.record.logs.entry import LogEntry
from swagent.record.logs.origin import NOWHERE
from swagent.record.logs.plain import NO_MORE, PlainRecord

MESSAGE = PlainRecord._fields.index("message")


class Encoding:
    """Encodes the text alone. A text that begins with `odd` is encoded by itself."""

    def __init__(self) -> None:
        self.together: list[str] = []

    def encode_alike(self, columns: Sequence[Sequence[Any]]) -> Sequence[bytes | None]:
        texts = columns[MESSAGE]
        self.together += texts
        return [None if text.startswith("odd") else text.encode() for text in texts]

    def encode_plain(self, plain: Sequence[Any]) -> bytes:
        if plain[MESSAGE] == "odd poison":
            raise ValueError(plain[MESSAGE])
        return f"alone {plain[MESSAGE]}".encode()

    def encode(self, entry: LogEntry) -> bytes:
        return f"converted {entry.text}".encode()


def plain(text: str) -> tuple[Any, ...]:
    return PlainRecord("INFO", "shop", "MainThread", 1.0, 0.0, text, NO_MORE, "", NOWHERE)


def entry(text: str) -> LogEntry:
    return LogEntry(1, text, [], "", "", "", -1)


def test_all_forms_keep_their_order() -> None:
    channel = channel_of(**AMPLE)
    intake = LogIntake(channel, Encoding(), RateLimitedLog())
    intake.offer_plain(plain("a"))
    intake.offer(entry("b"))
    intake.offer_plain(plain("odd c"))
    intake.offer_plain(plain("odd poison"))
    intake.offer_plain(plain("d"))
    assert channel.lease(10, 1000).records == [b"a", b"converted b", b"alone odd c", b"d"]
    assert dict(channel.statistics().refused) == {"encode_error": 1}


def test_nothing_is_encoded_before_a_group_is_there() -> None:
    encoding = Encoding()
    intake = LogIntake(channel_of(**AMPLE), encoding, RateLimitedLog())
    names = [str(number) for number in range(LOGS)]
    for name in names[:-1]:
        intake.offer_plain(plain(name))
    assert encoding.together == []
    intake.offer_plain(plain(names[-1]))
    assert encoding.together == names


def test_a_record_that_finds_no_room_is_refused_unencoded() -> None:
    channel, encoding = channel_of(max_items=2), Encoding()
    intake = LogIntake(channel, encoding, RateLimitedLog())
    for text in "abcd":
        intake.offer_plain(plain(text))
    assert dict(channel.statistics().refused) == {"full": 2}
    assert encoding.together == []
    assert channel.lease(10, 1000).records == [b"alone a", b"alone b"]
