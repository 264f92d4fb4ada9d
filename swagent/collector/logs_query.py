"""Lists of log lines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from heapq import nlargest
from typing import Any

from . import rows
from .cursor import decode, encode
from .database import Row
from .pace import Pace, pieces
from .rows import LOG_COLUMNS
from .store import Store

Answer = dict[str, Any]
_FILTERS = {
    "service": "service = :service",
    "trace_id": "trace = :trace_id",
    "from": "time >= :from",
    "to": "time <= :to",
    "q": "(contains(content, :q) OR contains(tags, :q_in_tags))",
}
_PIECE = "id > :low AND id <= :high"


async def logs(store: Store, filters: Mapping[str, Any], limit: int, cursor: str) -> Answer:
    """A page of the log lines that match, newest first.

    :param filters: of `service`, `level` (one, or several with commas), `q`, `trace_id`, `from`, `to` those that apply
    :param cursor: the `next` of the page before; empty: the first page
    :raises ValueError: when the cursor is none
    """
    conditions = [_PIECE, *(_FILTERS[name] for name in _FILTERS if name in filters)]
    values = {**filters, "limit": limit + 1}
    if "q" in filters:
        text = filters["q"].lower()
        values |= {"q": text.encode(), "q_in_tags": json.dumps(text)[1:-1].encode()}
    if "level" in filters:
        levels = {f"level{number}": each for number, each in enumerate(filters["level"].upper().split(","))}
        conditions.append(f"level IN ({', '.join(f':{name}' for name in levels)})")
        values |= levels
    after = decode(cursor, int)
    if after is not None:
        conditions.append("(time, id) < (:time, :id)")
        values |= {"time": after[0], "id": after[1]}
    where = " AND ".join(conditions)
    query = f"SELECT id, level, {LOG_COLUMNS} FROM logs WHERE {where} ORDER BY time DESC, id DESC LIMIT :limit"  # noqa: S608
    version, best = store.version, list[Row]()
    async for piece in pieces(store, "logs", Pace()):
        found = store.read(query, {**values, **piece})
        best = nlargest(limit + 1, (*best, *found), key=lambda row: (row[2], row[0]))
    shown = best[:limit]
    following = encode((shown[-1][2], shown[-1][0])) if len(best) > limit else None
    return {"version": version, "next": following, "logs": [log_answer(row) for row in shown]}


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
