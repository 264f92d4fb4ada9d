"""RetryInfo in a status's details: whatever it holds, a pause of at most a minute comes out, or nothing."""

from __future__ import annotations

import base64
from dataclasses import dataclass

import betterproto
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from faults.covering import covers
from swagent_transports._retry_info import LONGEST, read_retry_delay

RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"


@dataclass(eq=False, repr=False)
class Delay(betterproto.Message):
    """google.protobuf.Duration."""

    seconds: int = betterproto.int64_field(1)
    nanos: int = betterproto.int32_field(2)


@dataclass(eq=False, repr=False)
class Info(betterproto.Message):
    """google.rpc.RetryInfo."""

    retry_delay: Delay = betterproto.message_field(1)


@dataclass(eq=False, repr=False)
class Detail(betterproto.Message):
    """google.protobuf.Any."""

    type_url: str = betterproto.string_field(1)
    value: bytes = betterproto.bytes_field(2)


@dataclass(eq=False, repr=False)
class RpcStatus(betterproto.Message):
    """google.rpc.Status."""

    code: int = betterproto.int32_field(1)
    message: str = betterproto.string_field(2)
    details: list[Detail] = betterproto.message_field(3)


def encoded(*details: Detail, code: int = 8, message: str = "slow down") -> str:
    status = bytes(RpcStatus(code=code, message=message, details=list(details)))
    # as gRPC libraries do, without the padding
    return base64.b64encode(status).decode().rstrip("=")


def asking(seconds: int, nanos: int = 0) -> Detail:
    return Detail(RETRY_INFO, bytes(Info(Delay(seconds, nanos))))


@covers("F15", "grpc")
@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**31), 2**31 - 1), st.text(max_size=5))
@example(0, 0, "")
@example(7, 500_000_000, "")
@example(-1, 0, "")
def test_delay_is_clamped(seconds: int, nanos: int, message: str) -> None:
    expected = 0.0 if seconds < 0 or nanos < 0 else min(seconds + nanos / 1e9, LONGEST)
    other = Detail("type.googleapis.com/google.rpc.Help", b"\x0a\x00")
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


@pytest.mark.parametrize(
    "details", [[], [Detail("type.googleapis.com/google.rpc.Help", bytes(Info(Delay(7))))], [Detail("", b"")]]
)
def test_status_without_a_retry_info_asks_for_nothing(details: list[Detail]) -> None:
    assert read_retry_delay(encoded(*details)) is None


def test_retry_info_without_a_delay_asks_for_none() -> None:
    assert read_retry_delay(encoded(Detail(RETRY_INFO, b""))) == 0.0
