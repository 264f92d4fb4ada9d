"""The contents of a store, and how a record gets there: rows that wait, tables that overflow, and maps in memory."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable

from . import rows
from .bounded_map import BoundedMap
from .database import Database, Row, StoreError
from .instances import Instances
from .limits import Limits
from .profile_tasks import ProfileTasks
from .records import Event, KeepAlive, LogLine, Meter, ProfileFinish, Properties, Record, ThreadSnapshot
from .ring import STEP, Ring
from .segment_index import Indexed
from .series import SeriesIndex

# Ids are remembered longer than the segments themselves, so that a late duplicate is still recognised.
REMEMBERED_IDS = 5
_NAMES = "SELECT DISTINCT service FROM logs UNION SELECT service FROM series UNION SELECT service FROM instances"


class Contents:
    """All that a store keeps. Not thread-safe: the store's lock guards it.

    :ivar rings: the tables that overflow, by what the counts call them
    :ivar is_behind: whether the last write left more that is too old
    """

    def __init__(self, database: Database, limits: Limits, clock: Callable[[], float]) -> None:
        """:raises StoreError: when the database cannot be read"""
        self.database = database
        self.rings = {
            "segments": Ring(
                database, "segments", limits.segments, (("bodies", "id"), ("calls", "owner"), ("links", "owner"))
            ),
            "logs": Ring(database, "logs", limits.logs),
            "meters": Ring(database, "points", limits.points),
            "snapshots": Ring(database, "snapshots", limits.snapshots),
            "events": Ring(database, "events", limits.others),
            "others": Ring(database, "others", limits.others),
        }
        self.series = SeriesIndex(database, limits.series)
        self.instances = Instances(database, limits.others)
        self.profiles = ProfileTasks(database, limits.others)
        self._services = BoundedMap[str, None](limits.others)
        self._known_ids = BoundedMap[str, None](limits.segments * REMEMBERED_IDS)
        self._clock = clock
        self._added: Counter[str] = Counter()
        self._new_ids: list[str] = []
        self.is_behind = False
        for segment_id, service in database.read("SELECT segment, service FROM segments ORDER BY id"):
            self._known_ids.put(segment_id, None)
            self.meet_service(service)
        for (service,) in database.read(_NAMES):
            self.meet_service(service)

    @property
    def services(self) -> tuple[str, ...]:
        """The names of the services heard from, sorted."""
        return tuple(sorted(self._services.keys()))

    def meet_service(self, name: str) -> None:
        """Note that a service was heard from."""
        if name and name not in self._services:
            self._services.put(name, None)

    def knows(self, segment_id: str) -> bool:
        """Whether a segment has come before."""
        return segment_id in self._known_ids

    def keep_segment(self, segment: Indexed, *, is_report: bool = True) -> None:
        """Add a segment to the rows that wait for the next write.

        :param is_report: whether it is a sign of life
        """
        self._known_ids.put(segment.segment_id, None)
        self._new_ids.append(segment.segment_id)
        arrived = self._clock()
        if is_report:
            self.instances.see(segment.service, segment.instance, arrived)
        number = self.rings["segments"].number()
        self._added["segments"] += 1
        put = self.database.put
        put("segments", (number, arrived, *segment.row))
        put("bodies", (number, segment.body))
        self.database.put_all("calls", [(number, *call) for call in segment.calls])
        if segment.links:
            self.database.put_all("links", [(number, *link) for link in segment.links])

    def keep(self, record: Record) -> None:
        """Add another record to the rows that wait for the next write."""
        now = self._clock()
        if isinstance(record, Meter):
            series = self.series.put(record, now)
            buckets = None if record.buckets is None else json.dumps(record.buckets)
            self._append("meters", "points", (now, series, record.timestamp, record.value, buckets))
            self.instances.see(record.service, record.instance, now)
        elif isinstance(record, (Properties, KeepAlive)):
            self.instances.meet(record, now)
        elif isinstance(record, LogLine):
            self.keep_line(record)
            self.instances.see(record.service, record.instance, now)
        elif isinstance(record, ThreadSnapshot):
            self._append("snapshots", "snapshots", (now, *rows.snapshot_row(record)))
        else:
            kind = type(record).__name__
            table = "events" if kind == "Event" else "others"
            if isinstance(record, Event):
                self.instances.note(record, now)
            elif isinstance(record, ProfileFinish):
                self.profiles.finish(record.task_id, record.instance, int(now * 1000))
            self._append(table, table, (now, kind, rows.other_text(record)))

    def keep_line(self, line: LogLine) -> None:
        """Add a log line, which is no sign of life by itself."""
        self._append("logs", "logs", (self._clock(), *rows.log_row(line)))

    def _append(self, ring: str, table: str, row: Row) -> None:
        self._added[ring] += 1
        self.database.put(table, (self.rings[ring].number(), *row))

    def write(self, oldest: float | None) -> int:
        """Write what waits, and remove what is too much.

        :param oldest: the time of arrival before which a record falls out
        :returns: how many records fell out
        :raises StoreError: when it cannot be written; the rows that waited are gone then
        """
        gone: dict[str, tuple[int, int]] = {}
        try:
            if oldest is not None:
                self.series.expire(oldest)
            with self.database.transaction():
                for name, ring in self.rings.items():
                    if self._added[name] or oldest is not None or ring.count > ring.limit:
                        gone[name] = ring.trim(self._added[name], oldest)
        except StoreError:
            self._lose()
            raise
        for name, (evicted, expired) in gone.items():
            self.rings[name].settle(self._added[name], evicted, expired)
        self.is_behind = any(expired >= STEP for _, expired in gone.values())
        self._added.clear()
        self._new_ids.clear()
        return sum(map(sum, gone.values()))

    def _lose(self) -> None:
        """Treat what could not be written as if it had never come, so that it may come again."""
        for segment_id in self._new_ids:
            self._known_ids.discard(segment_id)
        self._new_ids.clear()
        self._added.clear()
        self.database.forget()
        self.series.reload()
