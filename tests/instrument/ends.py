"""The segments of both ends of a call, in one process."""

from __future__ import annotations

import time

from kit.client import until
from record.recorded import Finished, Recorder
from swagent.record.trace.model import SpanKind, SpanRecord

PATIENCE = 10.0


def wait_for_ends(recorder: Recorder, count: int) -> tuple[list[Finished], list[Finished]]:
    """The segments of the client and of the server, once there are so many: a server's may end after its answer has
    come, in a thread of its library's, without a word."""
    deadline = time.monotonic() + PATIENCE
    while len(recorder.segments) < count and time.monotonic() < deadline:
        time.sleep(0.001)
    return _ends(recorder)


async def both_ends(recorder: Recorder, count: int) -> tuple[list[Finished], list[Finished]]:
    """As `wait_for_ends`, for a server in this loop."""
    await until(lambda: len(recorder.segments) >= count, PATIENCE)
    return _ends(recorder)


def root_of(segment: Finished) -> SpanRecord:
    """The span that opened a segment."""
    return next(span for span in segment.spans if span.id == 0)


def _ends(recorder: Recorder) -> tuple[list[Finished], list[Finished]]:
    called = [each for each in recorder.segments if root_of(each).kind is not SpanKind.ENTRY]
    return called, [each for each in recorder.segments if each not in called]
