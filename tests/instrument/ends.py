"""The segments of both ends of a call, in one process."""

from __future__ import annotations

import time

import pytest

from kit.client import until
from record.recorded import Finished, Recorder
from swagent.record.trace.model import SpanKind, SpanRecord

from .trees import trees

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


def check_one_trace(recorder: Recorder, called: Finished, served: Finished, target: str) -> None:
    """A job has called `Look` of `stock.Stock`, which looks: two trees, of which the served one refers to the call."""
    root = root_of(served)
    method = "GRPC/RPC_FRAMEWORK {} grpc.method=/stock.Stock/Look".format
    assert sorted(trees(recorder).splitlines()) == sorted([
        "Local job",
        f"  Exit /stock.Stock/Look {method(target)} grpc.url={target} grpc.status_code=OK",
        f"Entry /stock.Stock/Look {method(root.peer)} grpc.status_code=OK",
        "  Local look",
    ])  # fmt: skip
    assert root.peer.startswith("127.0.0.1:")
    (reference,) = root.refs
    assert (reference.trace_id, reference.segment_id, reference.span_id) == (called.trace_id, called.id, 1)
    assert served.trace_id == called.trace_id


FAILURES = pytest.mark.parametrize(
    ("asked", "code", "server_failed"), [(b"abort", "NOT_FOUND", False), (b"broken", "UNKNOWN", True)]
)


def check_failure(called: Finished, served: Finished, code: str, server_failed: bool) -> None:
    """A call has failed with this status, and whether the server has."""
    spans = [called.spans[0], root_of(served)]
    assert [dict(span.tags)["grpc.status_code"] for span in spans] == [code, code]
    assert [span.failed for span in spans] == [True, server_failed]
    assert bool(spans[1].logs) == server_failed


def _ends(recorder: Recorder) -> tuple[list[Finished], list[Finished]]:
    called = [each for each in recorder.segments if root_of(each).kind is not SpanKind.ENTRY]
    return called, [each for each in recorder.segments if each not in called]
