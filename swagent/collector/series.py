"""The series of meters: which there are, and the latest value of each."""

from __future__ import annotations

import json

from . import rows
from .database import Database
from .records import Meter
from .shelf import Shelf
from .trace_records import Pairs

Key = tuple[str, str, str, Pairs]
_LATEST = """
SELECT s.id, service, instance, name, labels, time, value, buckets, is_histogram
FROM series s LEFT JOIN points p ON p.id = (SELECT max(id) FROM points WHERE series = s.id) ORDER BY s.id
"""
_NEWEST = "SELECT max(number) FROM (SELECT id AS number FROM series UNION SELECT series FROM points)"


class SeriesShelf:
    """Numbers series. The store's lock guards it."""

    def __init__(self, database: Database, limit: int) -> None:
        self._database = database
        self._limit = limit
        self.reload()

    def reload(self) -> None:
        """Take what the database holds for what there is."""
        self.evicted = 0
        self._shelf = Shelf[Key, tuple[int, Meter]](self._limit)
        ((newest,),) = self._database.read(_NEWEST)
        self._next = (newest or 0) + 1
        for number, *row in self._database.read(_LATEST):
            if row[4] is not None:  # else its values have fallen out
                meter = rows.meter_of(row)
                self._shelf.put(meter.series, (number, meter))

    def put(self, meter: Meter) -> int:
        """Note a value; returns the number of its series."""
        known = self._shelf.get(meter.series)
        if known is not None:
            self._shelf.put(meter.series, (known[0], meter))
            return known[0]
        number = self._next
        self._next += 1
        row = (number, meter.service, meter.instance, meter.name, json.dumps(meter.labels), meter.buckets is not None)
        self._database.put("series", row)
        gone = self._shelf.put(meter.series, (number, meter))
        if gone is not None:  # its values fall out in their turn
            self._database.also("DELETE FROM series WHERE id = ?", (gone[0],))
        self.evicted = self._shelf.evicted
        return number

    def latest(self) -> list[Meter]:
        """The latest value of each series."""
        return [meter for _, meter in self._shelf.values()]

    def numbers(self) -> dict[int, Meter]:
        """The series by number, each with its latest value."""
        return dict(self._shelf.values())
