"""Lists of log lines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..pace import Pace
from ..store import rows
from ..store.rows import LOG_COLUMNS
from ..store.store import Store
from .cursor import Page, decode
from .pace import pieces

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
    version, page = store.version, Page(limit, column=2)
    async for piece in pieces(store, "logs", Pace()):
        page.add(store.read(query, {**values, **piece}))
    return {"version": version, "next": page.following, "logs": [log_answer(row) for row in page.rows]}


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
