"""Encoded segments and log records of SkyWalking's protocol, from few words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from swagent_proto import wire

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SEGMENT = "00f067aa0ba902b70123456789abcdef"
ENTRY, EXIT, LOCAL = 0, 1, 2
DATABASE, RPC, HTTP, MQ, CACHE = 1, 2, 3, 4, 5


def reference(segment: str = "ab" * 16, span: int = 3, *, trace: str = TRACE, kind: int = 0) -> bytes:
    """A reference to a span of another segment."""
    return wire.segment_reference(kind, trace, segment, span, "web", "web-1", "/", "shop:80")


def span(
    kind: int = ENTRY,
    name: str = "GET:/orders/{id}",
    *,
    number: int = 0,
    parent: int = -1,
    layer: int = HTTP,
    component: int = 7014,
    peer: str = "",
    failed: bool = False,
    tags: Mapping[str, str] | None = None,
    logs: Sequence[tuple[int, Mapping[str, str]]] = (),
    refs: Sequence[bytes] = (),
    **times: int,
) -> bytes:
    """A span."""
    return wire.span_object(
        number,
        parent,
        times.get("start", 1_700_000_000_000),
        times.get("end", 1_700_000_000_025),
        refs,
        name,
        peer,
        kind,
        layer,
        component,
        failed,
        list((tags or {}).items()),
        [wire.log(at, list(fields.items())) for at, fields in logs],
        False,
    )


def segment(
    *spans: bytes, trace: str = TRACE, segment_id: str = SEGMENT, service: str = "shop", instance: str = "shop-1"
) -> bytes:
    """A segment."""
    return wire.segment_object(trace, segment_id, spans or [span()], service, instance, False)


def numbered(number: int) -> bytes:
    """A segment that differs from others."""
    return segment(trace=f"{number + 1:032x}", segment_id=f"{number + 7:032x}")


def first(values: Sequence[Any]) -> Any:
    """The one value of a sequence."""
    (value,) = values
    return value
