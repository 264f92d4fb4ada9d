"""The series of meters, and the latest value of each."""

from __future__ import annotations

import json
from typing import NamedTuple

from . import rows
from .bounded_map import BoundedMap
from .database import Database
from .records import Meter
from .trace_records import Pairs

Key = tuple[str, str, str, Pairs]


class _Latest(NamedTuple):
    number: int
    meter: Meter
    arrived: float


_LATEST = """
SELECT s.id, arrived, service, instance, name, labels, time, value, buckets
FROM series s LEFT JOIN points p ON p.id = (SELECT max(id) FROM points WHERE series = s.id) ORDER BY s.id
"""
_NEWEST = "SELECT max(number) FROM (SELECT id AS number FROM series UNION SELECT series FROM points)"


class SeriesIndex:
    """The number of each series, and its latest value. The store's lock guards it."""

    def __init__(self, database: Database, limit: int) -> None:
        self.evicted = 0
        self._database = database
        self._limit = limit
        self.reload()
        self._database.add_statement("DELETE FROM series WHERE id NOT IN (SELECT series FROM points)", ())

    def reload(self) -> None:
        """Begin with what the database holds."""
        self._latest = BoundedMap[Key, _Latest](self._limit)
        ((newest,),) = self._database.read(_NEWEST)
        self._next = (newest or 0) + 1
        for number, arrived, *row in self._database.read(_LATEST):
            if row[4] is not None:  # else its values have fallen out
                meter = rows.meter_of(row)
                self._latest.put(meter.series, _Latest(number, meter, arrived))

    def put(self, meter: Meter, arrived: float) -> int:
        """Note a value; returns the number of its series."""
        known = self._latest.get(meter.series)
        if known is not None:
            self._latest.put(meter.series, _Latest(known.number, meter, arrived))
            return known.number
        number = self._next
        self._next += 1
        row = (number, meter.service, meter.instance, meter.name, json.dumps(meter.labels))
        self._database.put("series", row)
        gone = self._latest.put(meter.series, _Latest(number, meter, arrived))
        if gone is not None:  # its values fall out in their turn
            self._forget(gone)
            self.evicted += 1
        return number

    def expire(self, oldest: float) -> None:
        """Remove the series of which nothing has come since."""
        for each in self._latest.values():
            if each.arrived < oldest:
                self._latest.discard(each.meter.series)
                self._forget(each)

    def _forget(self, gone: _Latest) -> None:
        self._database.add_statement("DELETE FROM series WHERE id = ?", (gone.number,))

    def latest(self) -> list[Meter]:
        """The latest value of each series."""
        return [each.meter for each in self._latest.values()]
