"""A transport that is the real one, and notes what each of its calls has come to."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import Any

from swagent.abc import Instance, Transport
from swagent.signals import Signal
from swagent_transports._kafka_keys import segment_key


@dataclass
class Note:
    """One call, noted when it ended; times are those of CLOCK_MONOTONIC, the same in all processes."""

    call: str
    address: str
    began: float
    ended: float = 0.0
    verdict: str = ""
    """`confirmed`, or the name of what was raised."""
    text: str = ""
    pause: float = 0.0
    ids: list[str] = field(default_factory=list)


def noted(transport: type[Transport], notes: list[Note]) -> type[Transport]:
    """The same transport; its calls go into `notes` as they end."""
    original: Any = transport

    class Noted(original):  # type: ignore[misc]
        async def send(self, signal: Signal, records: Sequence[bytes]) -> None:
            ids = [_segment_id(original.codec, record) for record in records]
            await _note(notes, Note("send", str(self), time.monotonic(), ids=ids), super().send(signal, records))

        async def report_properties(self, instance: Instance) -> None:
            await _note(notes, Note("probe", str(self), time.monotonic()), super().report_properties(instance))

        async def keep_alive(self, instance: Instance) -> None:
            await _note(notes, Note("beat", str(self), time.monotonic()), super().keep_alive(instance))

    return Noted


async def _note(notes: list[Note], note: Note, call: Awaitable[None]) -> None:
    try:
        await call
    except BaseException as error:
        note.verdict, note.text, note.pause = type(error).__name__, str(error), getattr(error, "pause", 0.0)
        raise
    else:
        note.verdict = "confirmed"
    finally:
        note.ended = time.monotonic()
        notes.append(note)


def _segment_id(codec: str, record: bytes) -> str:
    return str(json.loads(record)["traceSegmentId"]) if codec == "json" else segment_key(record).decode()
