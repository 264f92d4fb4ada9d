"""RetryInfo in a status's details: whatever it holds, a pause of at most a minute comes out, or nothing."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from google.protobuf import any_pb2, duration_pb2
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]
from hypothesis import example, given
from hypothesis import strategies as st

from faults.covering import covers
from swagent_transports._retry_info import LONGEST, read_retry_delay

RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"
HELP = "type.googleapis.com/google.rpc.Help"


def encoded(*details: Any, message: str = "slow down") -> str:
    status = status_pb2.Status(code=8, message=message, details=list(details))
    # as gRPC libraries do, without the padding
    return base64.b64encode(status.SerializeToString()).decode().rstrip("=")


def asking(seconds: int, nanos: int = 0, *, url: str = RETRY_INFO) -> Any:
    info = error_details_pb2.RetryInfo(retry_delay=duration_pb2.Duration(seconds=seconds, nanos=nanos))
    return any_pb2.Any(type_url=url, value=info.SerializeToString())


@covers("F15", "grpc")
@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**31), 2**31 - 1), st.text(max_size=5))
@example(0, 0, "")
@example(7, 500_000_000, "")
@example(-1, 0, "")
def test_delay_is_clamped(seconds: int, nanos: int, message: str) -> None:
    expected = 0.0 if seconds < 0 or nanos < 0 else min(seconds + nanos / 1e9, LONGEST)
    other = any_pb2.Any(type_url=HELP, value=b"\x0a\x00")
    assert read_retry_delay(encoded(other, asking(seconds, nanos), message=message)) == expected


@covers("F15", "grpc")
@given(st.one_of(st.binary(max_size=60).map(lambda raw: base64.b64encode(raw).decode()), st.text(max_size=60)))
@example("")
@example("====")
@example("é")
@example(base64.b64encode(b"\x1a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01").decode())
@example(base64.b64encode(b"\x08" + b"\xff" * 20).decode())
@example(base64.b64encode(b"\x1b").decode())
def test_total(text: str) -> None:
    pause = read_retry_delay(text)
    assert pause is None or 0.0 <= pause <= LONGEST


@given(st.integers(0, 200))
def test_details_that_were_cut_off_say_nothing_or_the_same(size: int) -> None:
    whole = base64.b64decode(encoded(asking(7)) + "==")
    assert read_retry_delay(base64.b64encode(whole[:size]).decode()) in (None, 7.0)


@pytest.mark.parametrize("details", [[], [asking(7, url=HELP)], [any_pb2.Any()]], ids=["none", "another", "empty"])
def test_status_without_a_retry_info_asks_for_nothing(details: list[Any]) -> None:
    assert read_retry_delay(encoded(*details)) is None


def test_retry_info_without_a_delay_asks_for_none() -> None:
    assert read_retry_delay(encoded(any_pb2.Any(type_url=RETRY_INFO))) == 0.0
