"""Traces from a file that the collector's page made, as what a test expects."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from .extra import needing_collector

if TYPE_CHECKING:
    from swagent.collector.api.node import Node
    from swagent.collector.store.records import LogLine
    from swagent.collector.store.trace_records import Segment, Span


class LoadedTraces:
    """The traces and log lines of a file, as `Arrived` has those that reached a collector."""

    def __init__(self, segments: list[Segment], logs: list[LogLine]) -> None:
        self.segments = segments
        self.logs = logs

    @property
    def spans(self) -> list[Span]:
        """Every span of every segment."""
        return [span for segment in self.segments for span in segment.spans]

    @property
    def trace_ids(self) -> list[str]:
        """The traces, in the order of the file."""
        return list(dict.fromkeys(segment.trace_id for segment in self.segments))

    def trace(self, trace_id: str) -> list[Segment]:
        """The segments of one trace; maybe none."""
        return [segment for segment in self.segments if segment.trace_id == trace_id]


def load_traces(path: str | Path) -> LoadedTraces:
    """Read a file that the collector's page made.

    :raises OSError: when it cannot be read
    :raises ValueError: when it is no file of traces, or one of a later version
    :raises ModuleNotFoundError: when the extra `collector` is not installed
    """
    with needing_collector():
        from swagent.collector.exchange.reading import read_file  # noqa: PLC0415, RUF100
    return LoadedTraces(*read_file(path))


def outline(segments: Iterable[Segment], *, tags: Iterable[str] = (), peers: bool = True) -> str:
    """The events in traces, without ids and times: a line for each span, below its parent, with service, kind,
    operation, peer, and whether it failed. Two runs of the same request have the same outline.

    The children of a span are in the order of their lines, since those that run side by side begin in any order.

    :param tags: the keys of tags that the lines show, too
    :param peers: whether the lines show peers; their ports may be other ones in each run
    """
    from swagent.collector.api.tree import join  # noqa: PLC0415, RUF100  (its needs are an extra)

    wanted = tuple(tags)
    below: dict[int, list[list[str]]] = {}
    roots = join(segments)
    waiting = list(roots)
    for node in waiting:  # grows meanwhile: parents come before their children
        waiting += node.children
    for node in reversed(waiting):
        parts = sorted(below.pop(id(node), []))
        block = [_line(node, wanted, peers), *("    " + line for part in parts for line in part)]
        below.setdefault(0 if node.parent is None else id(node.parent), []).append(block)
    return "\n".join(line for part in sorted(below.get(0, [])) for line in part)


def _line(node: Node, tags: tuple[str, ...], peers: bool) -> str:
    span = node.span
    shown = [f"{key}={value}" for key in tags for name, value in span.tags if name == key]
    peer = [f"-> {span.peer}"] if peers and span.peer else []
    failed = ["FAILED"] if span.is_error else []
    return " ".join([node.segment.service, span.kind.lower(), span.operation, *peer, *shown, *failed])
