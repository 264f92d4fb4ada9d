"""Calls that were cut off: by a deadline, by the failure of another task, or because the caller had gone; pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, cast

from ..api.failures import exception
from ..api.node import Node
from .calls import call_of, is_exit
from .finding import Confidence, Finding, trace_link
from .places import place, places
from .requests import awaited_pairs, entry_of
from .words import duration

_AT_ONCE = 20  # milliseconds between a failure and the end of what is cancelled by it
_DEADLINES = ("asyncio.wait_for", "asyncio.timeout")
_CUT_OFF = ("cancelled", "timed_out")


def cancellations(nodes: Iterable[Node]) -> Iterator[Finding]:
    """A finding for each request with a call that was cut off: of the call that had taken longest."""
    by_entry: dict[Node, list[Node]] = {}
    for node in nodes:
        if node.span.tag("outcome") in _CUT_OFF and is_exit(node):
            by_entry.setdefault(entry_of(node) or node, []).append(node)
    for entry, found in by_entry.items():
        found.sort(key=lambda node: node.start - node.end)
        yield _finding(entry, found)


def _finding(entry: Node, found: list[Node]) -> Finding:
    node = found[0]
    call, took = call_of(node), node.end - node.start
    cause, confidence = _cause(entry, node)
    others = f", and {len(found) - 1} more" if len(found) > 1 else ""
    text = (
        f"{call.service} → {call.peer} · {call.name}{others} was cut off after {duration(took)} {cause}{_went_on(node)}"
    )
    return Finding(
        "cancelled", text, call.service, entry.span.operation, confidence, trace_link(place(node)), count=len(found),
        ms=took, failures=int(_failed(entry)), share=round(took / max(entry.end - entry.start, 1), 4), peer=call.peer,
        places=places(found),
    )  # fmt: skip


def _failed(entry: Node) -> bool:
    return entry.span.is_error or entry.span.tag("outcome") in _CUT_OFF


def _cause(entry: Node, node: Node) -> tuple[str, Confidence]:
    """By what a call was cut off."""
    said = _said(entry, node.span.tag("task") or "")
    if said:
        return f"by {said}", "high"
    if node.span.tag("outcome") == "timed_out":
        return "by its deadline", "high"
    if any(name in _DEADLINES for name, _ in awaited_pairs(entry)):
        return "by a deadline around it", "medium"
    failed = _failure_beside(entry, node)
    if failed:
        return f"because another task failed: {failed}", "medium"
    kind = exception(entry.span)[0]
    if kind and _is_in_task(entry, node) and abs(entry.end - node.end) <= _AT_ONCE:
        return f"because the request failed: {kind.rpartition('.')[2]}", "medium"
    if entry is not node and entry.span.tag("outcome") == "cancelled":
        return "because the request was: its caller had gone, or the server ended it", "medium"
    return "by a deadline around it" if not _is_in_task(entry, node) else "by another task or a deadline", "medium"


def _said(entry: Node, task: str) -> str:
    """The cause of the task's cancellation, by the list of the request's tasks; empty where the list has none."""
    with suppress(ValueError, TypeError, AttributeError):
        found: Any = json.loads(entry.span.tag("tasks") or "[]")
        for each in cast("list[dict[str, Any]]", found):
            if each.get("name") == task and each.get("outcome") == "cancelled":
                return str(each.get("cause", ""))
    return ""


def _failure_beside(entry: Node, node: Node) -> str:
    """The kind of an exception in the same request that came when the call was cut off."""
    for each in _of_segment(entry):
        kind = exception(each.span)[0]
        if (
            each is not node
            and kind
            and abs(each.end - node.end) <= _AT_ONCE
            and (each is not entry or _is_group(kind))
        ):
            return kind.rpartition(".")[2]
    return ""


def _is_group(kind: str) -> bool:
    """Whether an exception says that tasks of a group failed: another one that leaves the request may be its cause."""
    return kind.rpartition(".")[2] in ("ExceptionGroup", "BaseExceptionGroup")


def _is_in_task(entry: Node, node: Node) -> bool:
    return node.span.tag("task") is not None and entry is not node


def _of_segment(entry: Node) -> Iterator[Node]:
    waiting = [entry]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [child for child in node.children if child.segment is entry.segment]


def _went_on(node: Node) -> str:
    """The words for how long a service went on with a call that was given up."""
    late = max((child.end - node.end for child in node.children if child.span.kind == "Entry"), default=0)
    return f"; the work for it went on for {duration(late)}" if late > _AT_ONCE else ""
