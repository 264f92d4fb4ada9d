"""Lists of log lines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from . import rows
from .rows import LOG_COLUMNS
from .store import Store

Answer = dict[str, Any]
_FILTERS = {
    "service": "service = ?",
    "trace_id": "trace = ?",
    "from": "time >= ?",
    "to": "time <= ?",
    "q": "(contains(content, ?) OR contains(tags, ?))",
}


def logs(store: Store, filters: Mapping[str, Any], limit: int, cursor: str) -> Answer:
    """A page of the log lines that match, newest first.

    :param filters: of `service`, `level` (one, or several with commas), `q`, `trace_id`, `from`, `to` those that apply
    :param cursor: the `next` of the page before; empty: the first page
    :raises ValueError: when the cursor is none
    """
    conditions = [_FILTERS[name] for name in _FILTERS if name in filters and name != "q"]
    values: list[Any] = [filters[name] for name in _FILTERS if name in filters and name != "q"]
    if "q" in filters:
        conditions.append(_FILTERS["q"])
        values += [filters["q"].lower().encode(), json.dumps(filters["q"].lower())[1:-1].encode()]
    if "level" in filters:
        levels = filters["level"].upper().split(",")
        conditions.append(f"level IN ({', '.join('?' * len(levels))})")
        values += levels
    if cursor:
        conditions.append("(time, id) < (?, ?)")
        values += _cursor(cursor)
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    query = f"SELECT id, level, {LOG_COLUMNS} FROM logs {where} ORDER BY time DESC, id DESC LIMIT ?"  # noqa: S608
    found = store.read(query, (*values, limit + 1))
    shown = found[:limit]
    following = json.dumps([shown[-1][2], shown[-1][0]]) if len(found) > limit else None
    return {"version": store.version, "next": following, "logs": [log_answer(row) for row in shown]}


def _cursor(text: str) -> list[int]:
    try:
        time, number = json.loads(text)
        return [int(time), int(number)]
    except (ValueError, TypeError) as error:
        raise ValueError("cursor: take the `next` of the page before") from error


def log_answer(row: Sequence[Any]) -> Answer:
    """One line, from the columns `id, level` and `LOG_COLUMNS`."""
    number, level, *columns = row
    line = rows.log_of(columns)
    return {
        "id": str(number),
        "time": line.timestamp,
        "service": line.service,
        "instance": line.instance,
        "level": level,
        "logger": next((value for key, value in line.tags if key == "logger"), ""),
        "text": line.content,
        "trace_id": line.trace_id or None,
        "segment_id": line.segment_id,
        "span_id": line.span_id,
        "endpoint": line.endpoint,
        "tags": line.tags,
    }
