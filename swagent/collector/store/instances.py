"""The instances that report, and when each was last heard from."""

from __future__ import annotations

import json

from . import rows
from .bounded_map import BoundedMap
from .database import Database
from .records import Event, Instance, KeepAlive, Properties

# The names that agents give to these events.
_BEGIN, _END = "Start", "Shutdown"
# Seconds for what an agent sends beside the event of its end.
_LAST_WORDS = 10.0


class Instances:
    """The instances that sent properties or keep-alives, and the time at which each instance was last heard from. The
    store's lock guards it."""

    def __init__(self, database: Database, limit: int) -> None:
        self._database = database
        self._known = BoundedMap[tuple[str, str], Instance](limit)
        self._seen = BoundedMap[tuple[str, str], float](limit)
        self._ended = BoundedMap[tuple[str, str], float](limit)
        columns = "service, instance, layer, last_seen, properties, keep_alives"
        for service, instance, layer, seen, properties, beats in database.read(
            f"SELECT {columns} FROM instances ORDER BY rowid"  # noqa: S608
        ):
            key = service, instance
            self._known.put(key, Instance(*key, layer, seen, rows.pairs_of(properties), beats))
            self._seen.put(key, seen)
        for table in ("segments", "logs"):
            query = f"SELECT service, instance, max(arrived) FROM {table} GROUP BY 1, 2"  # noqa: S608
            for service, instance, arrived in database.read(query):
                self.see(service, instance, max(arrived, self._seen.get((service, instance)) or 0.0))
        for arrived, text in database.read("SELECT arrived, data FROM events ORDER BY id"):
            self.note(rows.other_of(Event, text), arrived)

    def see(self, service: str, instance: str, now: float) -> None:
        """Note a sign of life."""
        self._seen.put((service, instance), now)

    def meet(self, record: Properties | KeepAlive, now: float) -> None:
        """Note an instance's properties, or that it lives."""
        key = record.service, record.instance
        known = self._known.get(key)
        properties, beats = (known.properties, known.keep_alives) if known else ((), 0)
        if isinstance(record, Properties):
            properties = record.properties
        else:
            beats += 1
        gone = self._known.put(key, Instance(*key, record.layer, now, properties, beats))
        if gone is not None:
            self._database.add_statement(
                "DELETE FROM instances WHERE service = ? AND instance = ?", (gone.service, gone.instance)
            )
        self._database.put("instances", (*key, record.layer, now, json.dumps(properties), beats))
        self.see(*key, now)

    def note(self, event: Event, now: float) -> None:
        """Note that an instance began, or said that it ends."""
        key = event.source
        if event.name == _END:
            self._ended.put(key, now)
        elif event.name == _BEGIN:
            self._ended.discard(key)

    def ended(self) -> dict[tuple[str, str], float]:
        """When each instance said that it ends; seconds since the epoch. One that was heard from since lives again."""
        found: dict[tuple[str, str], float] = {}
        for key in self._ended.keys():  # noqa: SIM118  (a bounded map is no Mapping)
            time = self._ended.get(key) or 0.0
            if (self._seen.get(key) or 0.0) <= time + _LAST_WORDS:
                found[key] = time
        return found

    def known(self) -> list[Instance]:
        """Those heard from through properties or keep-alives."""
        return self._known.values()

    def seen(self) -> dict[tuple[str, str], float]:
        """When each was last heard from, by whatever record."""
        return {key: self._seen.get(key) or 0.0 for key in self._seen.keys()}  # noqa: SIM118  (a bounded map is no Mapping)
