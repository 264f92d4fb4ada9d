"""The store: the records that arrived, bounded by count and age, in memory or in a file.

Intake adds and commits, queries read, both in any thread. One lock guards what is in memory, and is never held for
long; the database has another one. Queries give copies. A query sees all that was added before it, whether or not the
intake has committed it yet.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from . import rows
from .arrivals import Arrivals, Follower, Listener
from .contents import Contents
from .counts import SIGNALS, Statistics
from .database import Database, Row, StoreError, Values
from .limits import Limits
from .profile_tasks import ProfileTask, Progress
from .records import Instance, LogLine, Meter, Record, ThreadSnapshot
from .segment_index import Indexed, index
from .trace_records import Segment
from .trace_translation import decode_segment, message_of

# Rows that may wait for their commit.
_GROUP = 2000
R = TypeVar("R", bound=Record)
# Conditions that wait look at the same segments again and again.
_decoded = lru_cache(2048)(decode_segment)


class Store:
    """Keeps the newest records of each signal. Any thread, any event loop."""

    def __init__(
        self,
        max_segments: int | None = None,
        max_records: int | None = None,
        *,
        path: str = "",
        limits: Limits | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Make a store. With a file, it begins with what the file holds.

        :param max_segments: how many segments are kept, in place of the limit's
        :param max_records: how many of each other signal's records, series, instances, services are kept
        :param path: the SQLite file; empty: in memory
        :param limits: how much is kept, and for how long
        :param clock: seconds since the epoch, for ages
        :raises ValueError: when a bound is less than one
        :raises StoreError: when the file cannot be opened, is in use, or is no store
        """
        self.limits = (limits or Limits()).narrowed(max_segments, max_records)
        self.losses = 0
        self.started_at = clock()
        self._clock = clock
        self._lock = threading.RLock()
        self._arrivals = Arrivals(self._lock)
        self._received: Counter[str] = Counter()
        self._duplicates = 0
        self._database = Database(path)
        self._contents = Contents(self._database, self.limits, clock)
        self.version = sum(ring.count for ring in self._contents.rings.values())
        if path:  # it may have been kept within wider limits
            self._write(None)

    def add(self, record: Record) -> None:
        """Take a record in. It does not wait, unless this record completes a group of rows, which is then written.

        :raises StoreError: when the store cannot be written
        """
        if isinstance(record, Segment):
            message = message_of(record)
            self.add_segment(index(message, message.SerializeToString()))
            return
        with self._lock:
            self._note(SIGNALS[type(record)], getattr(record, "service", ""))
            self._contents.keep(record)
            self._commit_full_group()
        self._arrivals.announce(lambda: record)

    def add_segment(self, segment: Indexed) -> None:
        """Take a segment in, as the bytes that came. It does not wait, unless this segment completes a group of rows,
        which is then written.

        :raises StoreError: when the store cannot be written
        """
        with self._lock:
            self._note("segments", segment.service)
            if self._contents.knows(segment.segment_id):
                self._duplicates += 1
            else:
                self._contents.keep_segment(segment)
                self._commit_full_group()
        self._arrivals.announce(lambda: decode_segment(segment.body), segment.trace_id)

    def restore(self, record: Indexed | LogLine) -> None:
        """Take in what was kept before, from a file: also what has come before and has fallen out. It is no sign of
        life. It does not wait, as `add`.

        :raises StoreError: when the store cannot be written
        """
        with self._lock:
            if isinstance(record, LogLine):
                self._note("logs", record.service)
                self._contents.keep_line(record)
            else:
                self._note("segments", record.service)
                self._contents.keep_segment(record, is_report=False)
            self._commit_full_group()
        self.wake()

    def _note(self, signal: str, service: str) -> None:
        self._received[signal] += 1
        self.version += 1
        self._contents.meet_service(service)

    def _commit_full_group(self) -> None:
        if self._database.waiting >= _GROUP:
            self.commit()

    def commit(self) -> None:
        """Write what was added; in a file it survives the end of this process from here on.

        :raises StoreError: when it cannot be written; it is gone then, and counted by `losses`
        """
        with self._lock:
            if self._database.waiting:
                self._write(None)

    def expire(self) -> bool:
        """Remove what is too old, and write what was added. If there is much to remove, it removes a part.

        :returns: whether there is more to fall out
        :raises StoreError: as `commit`
        """
        age = self.limits.max_age
        with self._lock:
            version = self.version
            if self._database.waiting or age is not None:
                self._write(None if age is None else self._clock() - age)
            has_changed, is_behind = self.version != version, self._contents.is_behind
        if has_changed:
            self.wake()
        return is_behind

    def _write(self, oldest: float | None) -> None:
        try:
            self.version += self._contents.write(oldest)
        except StoreError:
            self.losses += 1
            raise

    def offsets(self, brokers: str) -> dict[tuple[str, int], int]:
        """Up to where Kafka's partitions were read: by topic and number, the offset of the next record."""
        query = "SELECT topic, partition, next FROM offsets WHERE brokers = ?"
        return {(topic, number): offset for topic, number, offset in self.read(query, (brokers,))}

    def set_offset(self, brokers: str, topic: str, partition: int, offset: int, losses: int) -> None:
        """Note where to go on, to be committed along with what was read.

        :param losses: how many there were before that was read
        :raises StoreError: when something has been lost since; nothing is noted then
        """
        with self._lock:
            self.check(losses)
            self._database.put("offsets", (brokers, topic, partition, offset))

    def check(self, losses: int) -> None:
        """Make sure that nothing has been lost since.

        :raises StoreError: when there have been other losses than these
        """
        if self.losses != losses:
            raise StoreError("cannot write to the store: some of this was lost with what came beside it")

    def numbers(self, table: str) -> tuple[int, int]:
        """The lowest number of a table's rows, less one, and the highest. Both are 0 when there are no rows."""
        # each by itself is the end of an index; of both in one query SQLite reads every row
        query = f"SELECT (SELECT min(id) FROM {table}), (SELECT max(id) FROM {table})"  # noqa: S608  (our own names)
        ((lowest, highest),) = self.read(query)
        return (0, 0) if highest is None else (lowest - 1, highest)

    def read(self, query: str, values: Values = ()) -> list[Row]:
        """The rows that a query finds, those of this moment's additions among them.

        :raises StoreError: when the store cannot be read or written
        """
        self.commit()
        return self._database.read(query, values)  # without the lock: it may take long

    def close(self) -> None:
        """Write what was added, and close the file. Twice is harmless; nothing can be read afterwards."""
        with self._lock:
            if self._database.path:
                self.commit()
                self._database.close()

    async def wait_for(self, condition: Callable[[Store], bool], timeout: float = 5.0) -> None:
        """Wait until `condition(store)` holds; it is looked at now and after arrivals, under the store's lock.
        asyncio or trio, any thread. Cancelled, it leaves nothing behind.

        :raises TimeoutError: when it does not hold within `timeout` seconds; says what has been received
        """
        if not await self._arrivals.wait_until(lambda: condition(self), timeout):
            raise TimeoutError(f"did not arrive within {timeout} s; received: {self.statistics()}")

    async def wait_until(self, condition: Callable[[], bool], timeout: float) -> bool:
        """Like `wait_for`, but says False when the condition does not hold in time."""
        return await self._arrivals.wait_until(condition, timeout)

    def wake(self) -> None:
        """Let waiting tasks check their conditions again, though nothing has arrived."""
        self._arrivals.wake()

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Have `listener(record)` called after each arrival, in the intake's thread; it must not wait or raise.
        Returns a function that ends the subscription."""
        return self._arrivals.subscribe(listener)

    def follow(self, follower: Follower) -> Callable[[], None]:
        """Like `subscribe`, with `follower(trace_id)` after each segment: far cheaper, nothing is decoded."""
        return self._arrivals.follow(follower)

    def statistics(self) -> Statistics:
        """How many records were received, duplicates, and evicted so far."""
        with self._lock:
            self.commit()
            evicted = Counter({name: ring.evicted for name, ring in self._contents.rings.items()})
            evicted["meters"] += self._contents.series.evicted
            return Statistics(self._received.copy(), self._duplicates, +evicted, self._contents.services)

    def counts(self) -> dict[str, int]:
        """How many rows are kept: segments, logs, meters (points), snapshots, events, others."""
        with self._lock:
            self.commit()
            return {name: ring.count for name, ring in self._contents.rings.items()}

    def dropped(self) -> tuple[int, int]:
        """How many records fell out for their age, and how many because there were too many."""
        with self._lock:
            return sum(ring.expired for ring in self._contents.rings.values()), sum(
                ring.evicted for ring in self._contents.rings.values()
            )

    @property
    def path(self) -> str:
        """The store's file; empty: in memory."""
        return self._database.path

    @property
    def segments(self) -> list[Segment]:
        """Every segment kept, oldest first."""
        return [_decoded(body) for (body,) in self.read("SELECT body FROM bodies ORDER BY id")]

    @property
    def trace_ids(self) -> list[str]:
        """The traces of which a segment is kept, in order of their first arrival."""
        return [trace for trace, _ in self.read("SELECT trace, min(id) FROM segments GROUP BY trace ORDER BY 2")]

    def trace(self, trace_id: str) -> list[Segment]:
        """The segments kept of one trace, in order of arrival; maybe none."""
        return [_decoded(body) for body in self.bodies(trace_id)]

    def bodies(self, trace_id: str) -> list[bytes]:
        """The same segments, as they came."""
        query = "SELECT body FROM segments JOIN bodies USING (id) WHERE trace = ? ORDER BY id"
        return [body for (body,) in self.read(query, (trace_id,))]

    def segment_numbers(self, trace_id: str) -> list[int]:
        """The numbers of the same segments, for `segment`."""
        return [number for (number,) in self.read("SELECT id FROM segments WHERE trace = ? ORDER BY id", (trace_id,))]

    def segment(self, number: int) -> Segment | None:
        """One segment; None if it has fallen out."""
        found = self.read("SELECT body FROM bodies WHERE id = ?", (number,))
        return decode_segment(found[0][0]) if found else None

    @property
    def logs(self) -> list[LogLine]:
        """Every log line kept, oldest first."""
        return [rows.log_of(row) for row in self.read(f"SELECT {rows.LOG_COLUMNS} FROM logs ORDER BY id")]  # noqa: S608

    @property
    def meters(self) -> list[Meter]:
        """The latest value of each series."""
        with self._lock:
            return self._contents.series.latest()

    @property
    def instances(self) -> list[Instance]:
        """The instances heard from through properties or keep-alives."""
        with self._lock:
            return self._contents.instances.known()

    def seen(self) -> dict[tuple[str, str], float]:
        """When each service's instance was last heard from, by whatever record; seconds since the epoch."""
        with self._lock:
            return self._contents.instances.seen()

    def ended(self) -> dict[tuple[str, str], float]:
        """When each instance said that it ends, of those that were not heard from since; as `seen`."""
        with self._lock:
            return self._contents.instances.ended()

    def order_profile(self, task: ProfileTask) -> ProfileTask:
        """Keep a profile task, for the agents of its service that ask.

        :raises BusyError: when the service has one that is not over
        :raises StoreError: when the store cannot be written
        """
        with self._lock:
            kept = self._contents.profiles.add(task)
            self._changed()
        self.wake()
        return kept

    def assign_profiles(self, service: str, instance: str, since: int) -> list[ProfileTask]:
        """Give profile tasks to an instance that asks for them, and note that it has them.

        :param since: when the newest task was created that the instance knows, in milliseconds since the epoch
        :raises StoreError: when the store cannot be written
        """
        with self._lock:
            found = self._contents.profiles.assign(service, instance, since, int(self._clock() * 1000))
            if found:
                self._changed()
        if found:
            self.wake()
        return found

    def _changed(self) -> None:
        self.version += 1
        self.commit()

    def profiles(self) -> list[Progress]:
        """The profile tasks that were made here, oldest first."""
        with self._lock:
            return self._contents.profiles.known()

    def polls(self) -> dict[tuple[str, str], int]:
        """When each service's instance last asked for profile tasks; milliseconds since the epoch."""
        with self._lock:
            return self._contents.profiles.polls()

    def records(self, kind: type[R]) -> list[R]:
        """The records kept of another kind (`LogLine`, `Event`, `ThreadSnapshot`, ...), oldest first."""
        if kind is LogLine:
            return self.logs  # type: ignore[return-value]
        if kind is ThreadSnapshot:
            query = f"SELECT {rows.SNAPSHOT_COLUMNS} FROM snapshots ORDER BY id"  # noqa: S608
            return [rows.snapshot_of(row) for row in self.read(query)]  # type: ignore[misc]
        return [rows.other_of(kind, text) for text in self.texts(kind)]

    def texts(self, kind: type[object]) -> list[str]:
        """The same records, as `rows.other_of` takes them."""
        table = "events" if kind.__name__ == "Event" else "others"
        query = f"SELECT data FROM {table} WHERE kind = ? ORDER BY id"  # noqa: S608
        return [text for (text,) in self.read(query, (kind.__name__,))]
