"""Lists of log lines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..store import rows
from ..store.rows import LOG_COLUMNS
from ..store.store import Store
from .cursor import Page, decode
from .pieces import pieces

Answer = dict[str, Any]
_FILTERS = {
    "service": "service = :service",
    "trace_id": "trace = :trace_id",
    "from": "time >= :from",
    "to": "time <= :to",
    "q": "(contains(content, :q) OR contains(tags, :q_in_tags))",
}
_PIECE = "id > :low AND id <= :high"
# those that follow come first, so that at least one row has the total
_LIST = f"""
SELECT id, level, {LOG_COLUMNS}, count(*) OVER () AS total, {{follows}} AS follows FROM logs WHERE {{where}}
ORDER BY follows DESC, time DESC, id DESC LIMIT :limit
"""  # noqa: S608  (our own names)
_LARGEST = 2**62


def logs(store: Store, filters: Mapping[str, Any], limit: int, cursor: str) -> Answer:
    """A page of the log lines that match, newest first, and how many match in all.

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
        values |= {"time": after[0], "id": after[1]}
    query = _LIST.format(
        follows="true" if after is None else "(time, id) < (:time, :id)", where=" AND ".join(conditions)
    )
    version, total, page = store.version, 0, Page(limit, column=2)
    for piece in pieces(store, "logs"):
        found = store.read(query, {**values, **piece})
        total += found[0][-2] if found else 0
        page.add(row[:-2] for row in found if row[-1])
    shown = [log_answer(row) for row in page.rows]
    return {"version": version, "total": total, "next": page.following, "logs": shown}


def log(store: Store, number: str) -> Answer | None:
    """One line, by its id; None if it is not kept."""
    if not number.isascii() or not number.isdecimal() or int(number) > _LARGEST:
        return None
    found = store.read(f"SELECT id, level, {LOG_COLUMNS} FROM logs WHERE id = ?", (int(number),))  # noqa: S608
    return {"version": store.version, **log_answer(found[0])} if found else None


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
