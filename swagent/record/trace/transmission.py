"""How long a message was on its way, in milliseconds: the tag `transmission.latency`, from which the collector draws a
broker's latency.

The time of sending comes from the header `sw8-x`, which SkyWalking's agents send along, or else from the record of the
broker. The two clocks may be those of two machines: where the message would have come before it was sent, nothing is
recorded.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

HEADER = "sw8-x"
TAG = "transmission.latency"
# until the year 33658: what is longer is no time
_MAX_DIGITS = 15
_MAX_HEADER = 32


class ArrivedMessage(NamedTuple):
    """A message of a library that gives its parts by methods. The fields have the names that records of Kafka have.

    :ivar timestamp: when it was sent, in milliseconds since the epoch; None: not known
    """

    headers: Any
    timestamp: int | None
    timestamp_type: int = 0


def write_sent_time(now: float) -> str:
    """Write the header `sw8-x` of a message: no special mode, and the time of sending.

    :param now: in seconds since the epoch
    """
    return f"0-{int(now * 1000)}"


def read_sent_time(header: object) -> int | None:
    """Read the time of sending from a header `sw8-x`, text or bytes, in milliseconds since the epoch; None where it has
    none, or another form."""
    if isinstance(header, bytes) and len(header) <= _MAX_HEADER:
        header = header.decode("latin-1")
    if not isinstance(header, str) or len(header) > _MAX_HEADER:
        return None
    _, _, sent = header.partition("-")
    return _as_time(sent)


def time_of_record(message: object) -> int | None:
    """When a broker's record was sent, in milliseconds since the epoch, as Kafka's clients say it."""
    sent = getattr(message, "timestamp", None)
    is_known = isinstance(getattr(message, "timestamp_type", None), int) and type(sent) is int and sent > 0
    return sent if is_known else None


def time_of_stream_id(value: object) -> int | None:
    """The milliseconds since the epoch in the id of an entry of a Redis stream, such as `1700000000000-0`."""
    if isinstance(value, bytes) and len(value) <= _MAX_HEADER:
        value = value.decode("latin-1")
    if not isinstance(value, str) or len(value) > _MAX_HEADER:
        return None
    sent, _, number = value.partition("-")
    return _as_time(sent) if number.isascii() and number.isdecimal() else None


def _as_time(digits: str) -> int | None:
    is_number = digits.isascii() and digits.isdecimal() and len(digits) <= _MAX_DIGITS
    # an agent that does not know it writes nothing or zero
    return int(digits) or None if is_number else None


def latency_of(sent: Iterable[int | None], now: float) -> int | None:
    """How long a message, or that message of a batch which took longest, was on its way, in milliseconds; None where
    it is not known or the clocks disagree.

    :param sent: when each was sent, in milliseconds since the epoch
    :param now: in seconds since the epoch
    """
    arrived = int(now * 1000)
    return max((arrived - each for each in sent if each is not None and each <= arrived), default=None)
