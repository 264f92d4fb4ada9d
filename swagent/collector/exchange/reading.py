"""Reads a file of traces."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from ..intake.translation import log_of
from ..store.protocol import parse_json
from ..store.records import LogLine
from ..store.trace_records import Segment
from ..store.trace_translation import segment_of
from .trace_json import FORMAT, VERSION


class Parts(NamedTuple):
    """The contents of a file, as JSON."""

    segments: Sequence[Any]
    logs: Sequence[Any]


def parts_of(value: object) -> Parts:
    """The segments and log lines of what was read.

    :raises ValueError: when it is no file of traces, or one of a later version
    """
    if not isinstance(value, dict):
        raise ValueError("this is no file of traces: a JSON object is needed")
    file = cast("Mapping[str, Any]", value)
    if file.get("format") != FORMAT:
        raise ValueError(f'this is no file of traces: its "format" is not "{FORMAT}"')
    if file.get("version") != VERSION:
        raise ValueError(f"files of traces of version {VERSION} are read, not of {file.get('version')!r}")
    found = Parts(file.get("segments", []), file.get("logs", []))
    if not all(isinstance(each, list) for each in found):
        raise ValueError('"segments" and "logs" are lists')
    return found


def read_file(path: str | Path) -> tuple[list[Segment], list[LogLine]]:
    """All that a file holds.

    :raises OSError: when it cannot be read
    :raises ValueError: when it is no file of traces
    """
    try:
        value = json.loads(Path(path).read_bytes())
    except ValueError as error:
        raise ValueError(f"{path} is no JSON: {error}") from error
    try:
        segments, logs = parts_of(value)
        return (
            [segment_of(parse_json("SegmentObject", each)) for each in segments],
            [log_of(parse_json("LogData", each)) for each in logs],
        )
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
