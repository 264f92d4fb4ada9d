"""The records that agents lost within a span of time, by their ledgers: they report totals, a few times a minute. So a
loss lies between two reports, and the answer names both."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from ..store.store import Store

Answer = dict[str, Any]
_TOTALS = {"swagent_records_dropped": "dropped", "swagent_records_refused": "refused"}
_SERIES = "SELECT id, service, instance, name, labels FROM series WHERE name IN (?, ?) ORDER BY id"
_POINT = "SELECT time, value FROM points WHERE series = ? AND time {} ? AND value IS NOT NULL ORDER BY time {} LIMIT 1"
_BEFORE, _AFTER = _POINT.format("<=", "DESC"), _POINT.format(">=", "ASC")
_LAST = _POINT.format("<", "DESC")
# a reason has no total before its first record; then the report before it says that there was none
_REPORT = """
SELECT max(p.time) FROM series s CROSS JOIN points p ON p.series = s.id
WHERE s.service = ? AND s.instance = ? AND s.name = 'swagent_records_offered' AND p.time <= ?
"""


class _Total(NamedTuple):
    time: int | None
    value: float


def losses(store: Store, since: int, until: int) -> Answer:
    """The records that were lost between the last reports before a time and the first ones after another.

    :param since: milliseconds since the epoch
    :param until: as `since`
    """
    version = store.version
    found: list[Answer] = []
    for number, service, instance, name, labels in store.read(_SERIES, tuple(_TOTALS)):
        before = _total(store, _BEFORE, number, since)
        after = _total(store, _AFTER, number, until) or _total(store, _LAST, number, until)
        if after is None or (before is not None and after.value == before.value):
            continue
        if before is None:
            ((earlier,),) = store.read(_REPORT, (service, instance, since))
            before = _Total(earlier, 0.0)
        # a total that is less than before: the agent began anew
        count = after.value - before.value if after.value >= before.value else after.value
        if count > 0:
            pairs = dict(json.loads(labels))
            found.append(
                {
                    "service": service,
                    "instance": instance,
                    "signal": pairs.get("signal", ""),
                    "kind": _TOTALS[name],
                    "reason": pairs.get("reason", ""),
                    "count": int(count),
                    "from": before.time,
                    "to": after.time,
                }
            )
    found.sort(key=lambda each: -each["count"])
    return {"version": version, "losses": found}


def _total(store: Store, query: str, number: int, time: int) -> _Total | None:
    rows = store.read(query, (number, time))
    return _Total(*rows[0]) if rows else None
