"""The fuzzed code: all that reads the bytes of others. Each target is a plain function of bytes that checks its own
properties: it returns, or it raises AssertionError, or lets out an error that should not have come out.

`GROWING` has inputs of any length, to see that the time grows with the length and no faster.
"""

from __future__ import annotations

import logging
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fuzz.replies import grpc_reply, http_reply
from swagent.config import Config, options
from swagent.config.options import Secret
from swagent.errors import ConfigError
from swagent.record.trace.carrier import format_correlation, format_sw8, parse_correlation, parse_sw8
from swagent_proto import wire
from swagent_transports._kafka_keys import log_key, meter_key, read_field, segment_key
from swagent_transports._meters import elements
from swagent_transports._retry_after import LONGEST, read_retry_after
from swagent_transports._retry_info import read_retry_delay

Target = Callable[[bytes], None]
CORPUS = Path(__file__).with_name("corpus")
_MAX_ELEMENTS, _MAX_VALUE = 3, 128
_NOW = 1_800_000_000.0


def sw8(data: bytes) -> None:
    """The context that comes with a request, and that goes on with a call."""
    for value in (data, data.decode("latin-1"), data.decode("utf-8", "surrogateescape")):
        carrier = parse_sw8(value)
        if carrier is None:
            continue
        number = (value if isinstance(value, str) else value.decode("ascii")).split("-")[3]
        assert number.isascii()
        assert number.isdigit()
        assert int(number) == carrier.span_id <= 999_999_999
        assert all(text and text.isprintable() for text in (carrier.trace_id, carrier.segment_id))
        header = format_sw8(carrier)
        assert _can_travel(header)
        assert header.count("-") == 7
        again = parse_sw8(header)
        assert again is not None, header
        assert (again.trace_id, again.segment_id, again.span_id) == (
            carrier.trace_id, carrier.segment_id, carrier.span_id,
        )  # fmt: skip
        assert parse_sw8(format_sw8(again)) == again


def _can_travel(header: str) -> bool:
    return header.isascii() and header.isprintable()


def correlation(data: bytes) -> None:
    """The values that travel with a trace."""
    for value in (data, data.decode("latin-1"), data.decode("utf-8", "surrogateescape")):
        found = parse_correlation(value, _MAX_ELEMENTS, _MAX_VALUE)
        assert len(found) <= _MAX_ELEMENTS
        assert all(name and len(element) <= _MAX_VALUE for name, element in found.items())
        header = format_correlation(found)
        assert _can_travel(header)
        assert parse_correlation(header, _MAX_ELEMENTS, _MAX_VALUE) == found


def retry_after(data: bytes) -> None:
    """The time that a collector asks us to wait."""
    for text in (data.decode("latin-1"), data.decode("utf-8", "replace")):
        pause = read_retry_after(text, _NOW)
        assert pause is None or 0.0 <= pause <= LONGEST
        if pause is not None:
            assert read_retry_after(str(int(pause)), _NOW) == int(pause)


def retry_info(data: bytes) -> None:
    """The same over gRPC: protobuf, in base64 or not even that."""
    for text in (data.decode("latin-1"), b64encode(data).decode(), b64encode(data).decode().rstrip("=")):
        pause = read_retry_delay(text)
        assert pause is None or 0.0 <= pause <= LONGEST


def environment(data: bytes) -> None:
    """Variables, each `NAME=value`, with NUL between them as in /proc/self/environ."""
    environ: dict[str, str] = {}
    for entry in data.split(b"\0"):
        name, _, value = entry.partition(b"=")
        environ[name.decode("utf-8", "surrogateescape")] = value.decode("utf-8", "surrogateescape")
    try:
        config = Config.from_env(environ)
    except ConfigError as error:
        _check_refusal(error, environ)
        return
    for field, option in options():
        if option.secret and getattr(config, field):
            another: Any = {field: Secret("another")}
            assert repr(config) == repr(replace(config, **another))
    assert Config.from_env(environ, instance=config.instance) == config


def _check_refusal(error: ConfigError, environ: Mapping[str, str]) -> None:
    # names of Kafka's settings may be written in any case
    assert error.name.upper() in map(str.upper, environ), f"{error.name} names no variable that is set"
    assert error.allowed
    assert str(error).startswith(f"{error.name}={error.value!r} cannot be used; allowed: ")


def meters(data: bytes) -> None:
    """Our own meters, taken apart for gRPC."""
    try:
        parts = list(elements(data))
    except ValueError:
        return
    assert list(elements(wire.meter_data_collection(parts))) == parts
    assert sum(map(len, parts)) <= len(data)


def kafka_keys(data: bytes) -> None:
    """The key of a record, read out of its bytes."""
    for key in (segment_key(data), log_key(data), meter_key(data), *(read_field(data, number) for number in range(4))):
        assert key in data


TARGETS: Mapping[str, Target] = {
    "sw8": sw8,
    "correlation": correlation,
    "retry_after": retry_after,
    "retry_info": retry_info,
    "environment": environment,
    "meters": meters,
    "kafka_keys": kafka_keys,
    "grpc_reply": grpc_reply,
    "http_reply": http_reply,
}

_PIECES = {
    b"SW_AGENT_NAME": [b"a", b" ", b"\xff"],
    b"SW_AGENT_COLLECTOR_BACKEND_SERVICES": [b"a:1,", b"[::1]:1,", b"a", b":", b"@", b"grpc://"],
    b"SW_KAFKA_BOOTSTRAP_SERVERS": [b"a,", b"a:1,", b":"],
    b"SW_AGENT_INSTANCE_PROPERTIES_JSON": [b"[", b'{"a":', b"1", b"\\"],
    b"SW_AGENT_TRACE_IGNORE_PATH": [b"/**/", b"*,", b"?", b"("],
    b"SW_AGENT_LOG_REPORTER_LAYOUT": [b"%(a)s", b"%", b"%%", b"(", b"%("],
    b"SW_AGENT_SPAN_LIMIT_PER_SEGMENT": [b"1", b"_1"],
    b"SW_AGENT_SHUTDOWN_TIMEOUT": [b"1", b"1e"],
    b"SW_AGENT_LOG_REPORTER_LEVEL": [b"1", b"A"],
}


def _repeated(name: bytes, piece: bytes) -> Callable[[int], bytes]:
    return lambda size: name + b"=" + piece * (size // len(piece))


GROWING: Mapping[str, tuple[Callable[[int], bytes], ...]] = {
    "sw8": (lambda size: b"1-" + b"QUFB" * (size // 4), lambda size: b"-" * size, lambda size: b"9" * size),
    "correlation": (lambda size: b"," * size, lambda size: b"YQ==:YQ==," * (size // 10), lambda size: b"A" * size),
    "retry_after": (
        lambda size: b"9" * size, lambda size: b"0" * size, lambda size: b"Sat, " * (size // 5),
        lambda size: b" " * size, lambda size: b"(" * size, lambda size: b"1:" * (size // 2),
    ),
    "environment": (
        lambda size: b"SW_" + b"AGENT_" * (size // 6) + b"=1",
        *(_repeated(name, piece) for name, pieces in _PIECES.items() for piece in pieces),
    ),
    "retry_info": (
        lambda size: b"\xff" * size, lambda size: b"\x1a\x00" * (size // 2), lambda size: b"\x08\x01" * (size // 2),
        lambda size: b"=" * size, lambda size: b"\x1a" + b"\xff" * size,
    ),
    "meters": (
        lambda size: b"\xff" * size, lambda size: b"\x0a\xff" + b"\x80" * size, lambda size: b"\x0a\x00" * (size // 2),
        lambda size: b"\x0a" + b"\xff" * size, lambda size: b"\x0a\x7f" + bytes(size),
    ),
    "kafka_keys": (
        lambda size: b"\xff" * size, lambda size: b"\x0a\x00" * (size // 2), lambda size: b"\x78\x80" * (size // 2),
        lambda size: b"\x79" * size, lambda size: b"\x78\x01" * (size // 2),
    ),
}  # fmt: skip


def seeds(target: str) -> list[bytes]:
    """The committed inputs of a target."""
    return [path.read_bytes() for path in sorted((CORPUS / target).iterdir())]


def quieten() -> None:
    """CardinalityLimit that are unknown are warned about, which is not looked at here."""
    logging.getLogger("swagent").setLevel(logging.CRITICAL)
