"""Kafka's clients with a real broker: the seconds of 5,000 messages, and how many of them are not in the log after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from stress.clients.command import REQUIREMENTS
from stress.environments import python_with, with_this_code
from stress.pipeline.sinks import BrokerSink, open_broker

from .kafka_sending import WAYS, Sent
from .lesson import Lesson, ratio
from .program import last_line_of

BASE = "kafka-python, get() for each"
NOT_FLUSHED = ("confluent-kafka, no poll thread, no flush()", "confluent-kafka, a poll thread, no flush()")
"""The ways that end without asking whether anything has arrived."""
PUBLISHED: Mapping[str, float] = {
    BASE: 27.6,
    "confluent-kafka, no poll thread, then flush()": 3.7,
    "confluent-kafka, a poll thread, no flush()": 0.03,
    "aiokafka, send_and_wait() for each": 27.9,
}
"""Seconds of 5,000 messages by the client, and by whether a thread polled. How each was done is not published."""
_HEADS = ("way", "published, s", "published, base to it", "handed over, s", "done, s", "base to it", "sent",
          "confirmed", "lost")  # fmt: skip
_SECONDS = 180


class Outcome(NamedTuple):
    """One run of a way.

    :ivar arrived: how many messages are in the broker's log after the program has ended
    """

    sent: Sent
    arrived: int


def measure(short: bool) -> Lesson:
    """Run each way in turns, each time to a topic of its own."""
    count, rounds = (500, 1) if short else (5000, 3)
    python = python_with("kafka-clients", (*REQUIREMENTS, "kafka-python>=2.2,<4"))
    topics = {(number, way): f"lesson-{number}-{place}" for number in range(rounds) for place, way in enumerate(WAYS)}
    found: dict[str, list[Outcome]] = {way: [] for way in WAYS}
    with open_broker(list(topics.values())) as broker:
        for (_, way), topic in topics.items():
            found[way].append(_run(python, way, broker, topic, count))
    notes = [
        f"{count:,} messages of 100 bytes to 3 partitions of a real broker, which has to acknowledge each; what is "
        "lost is counted in the broker's log after the program has ended",
        "a way that waits for each message stops after 20 s, and its seconds are those of all at its rate",
        "the published table says which client it was and whether a thread polled, and not what the program waited "
        "for; each figure stands beside the way that it fits",
    ]
    rows = [_row(way, found, count) for way in WAYS]
    return Lesson(f"Kafka clients, {count:,} messages", _HEADS, rows, notes, faults(found))


def _run(python: Path, way: str, broker: BrokerSink, topic: str, count: int) -> Outcome:
    command = [str(python), "-m", "stress.lessons.kafka_sending", way, broker.address, topic, str(count)]
    return Outcome(Sent(*last_line_of(command, with_this_code(), _SECONDS)), broker.count_topic(topic))


def _row(way: str, found: Mapping[str, Sequence[Outcome]], count: int) -> Sequence[str]:
    published, outcomes = PUBLISHED.get(way), found[way]
    took, base = (median(seconds(each.sent, count) for each in found[name]) for name in (way, BASE))
    return (
        way, f"{published:g}" if published else "", ratio(PUBLISHED[BASE], published) if published else "",
        f"{median(each.sent.handed_over for each in outcomes):.3f}", f"{took:.3f}", ratio(base, took),
        f"{median(each.sent.messages for each in outcomes):,.0f}",
        f"{median(each.sent.confirmed for each in outcomes):,.0f}",
        f"{median(each.sent.messages - each.arrived for each in outcomes):,.0f}",
    )  # fmt: skip


def seconds(sent: Sent, count: int) -> float:
    """Those of all messages: a way that stopped early would have gone on at its rate."""
    return sent.seconds * count / sent.messages


def faults(found: Mapping[str, Sequence[Outcome]]) -> list[str]:
    """Why the table is void: a way that waits loses nothing, and what was confirmed is in the log."""
    return [
        f"{way}: {sent.confirmed:,} confirmed and {arrived:,} arrived of {sent.messages:,}"
        for way, outcomes in found.items()
        for sent, arrived in outcomes
        if not (sent.confirmed if way in NOT_FLUSHED else sent.messages) <= arrived <= sent.messages
        or (way not in NOT_FLUSHED and sent.confirmed != sent.messages)
    ]
