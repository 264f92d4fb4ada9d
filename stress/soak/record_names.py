"""The name under which a record is known at both ends: the number of its request, or a digest of its bytes.

The load puts `soak-NUMBER.` into the trace id that its requests bring along, so every segment, and every log record
that is tied to its trace, has it among its bytes, as protobuf and as JSON.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from swagent.signals import Signal
from swagent_transports._meters import elements

NUMBERED = (Signal.SEGMENT, Signal.LOG)
"""The signals of which every record belongs to a request."""
_NUMBER = re.compile(rb"soak-([0-9]+)\.")


def trace_id(number: int) -> str:
    """The trace id of a request."""
    return f"soak-{number}."


def name_of(record: bytes) -> str:
    """The name of an encoded record."""
    match = _NUMBER.search(record)
    return match[1].decode() if match else hashlib.blake2b(record, digest_size=8).hexdigest()


def meters_name(meters: Sequence[bytes]) -> str:
    """The name of one period's meters, without their frame: Kafka carries them whole, gRPC one by one."""
    return name_of(b"".join(meters))


def names_of(signal: Signal, records: Sequence[bytes]) -> list[str]:
    """The names of a batch as a transport gets it, or as a broker holds it."""
    if signal is Signal.METER:
        return [meters_name(list(elements(record))) for record in records]
    return [name_of(record) for record in records]


def as_lines(signal: Signal, names: Sequence[str]) -> bytes:
    """As both ends note them, one to a line."""
    return "".join(f"{signal.value} {name}\n" for name in names).encode()
