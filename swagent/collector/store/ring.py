"""A table of the store whose oldest rows fall out, by count and by age."""

from __future__ import annotations

from .database import Database

STEP = 1000
"""How many rows are removed for their age at once, so that no report waits long."""


class Ring:
    """Gives numbers to new rows, and removes old rows. The rows themselves go through the database.

    :ivar count: how many rows are committed
    :ivar evicted: how many fell out because there were too many
    :ivar expired: how many fell out because they were too old
    """

    def __init__(self, database: Database, table: str, limit: int, followers: tuple[tuple[str, str], ...] = ()) -> None:
        """:param followers: tables, and the column of each, whose rows fall out along with this one's
        :raises ValueError: when `limit` is less than one
        """
        if limit < 1:
            raise ValueError(f"a store keeps at least 1 record, not {limit}")
        self.limit = limit
        self.evicted = 0
        self.expired = 0
        self._database = database
        self._table = table
        self._followers = ((table, "id"), *followers)
        ((self.count, newest),) = database.read(f"SELECT count(*), max(id) FROM {table}")  # noqa: S608
        self._next = (newest or 0) + 1

    def number(self) -> int:
        """The number of a new row."""
        number = self._next
        self._next += 1
        return number

    def trim(self, added: int, oldest: float | None) -> tuple[int, int]:
        """Within a transaction: remove what is too much, then what is too old, at most `STEP` rows of the latter.

        :param added: how many rows were added since the last time
        :param oldest: the time of arrival before which a row is too old
        :returns: how many fell out for their number, and how many for their age
        """
        evicted = expired = 0
        excess = self.count + added - self.limit
        if excess > 0:
            evicted = self._cut(f"SELECT id FROM {self._table} ORDER BY id LIMIT 1 OFFSET {excess}", ())  # noqa: S608
        if oldest is not None:
            expired = self._expire(oldest)
        return evicted, expired

    def _expire(self, oldest: float) -> int:
        ahead = f"SELECT id FROM {self._table} ORDER BY id LIMIT 1 OFFSET {STEP}"  # noqa: S608
        if self._database.read(f"SELECT 1 FROM {self._table} WHERE id = ({ahead}) AND arrived < ?", (oldest,)):  # noqa: S608
            return self._cut(ahead, ())
        return self._cut(f"SELECT id FROM {self._table} WHERE arrived >= ? ORDER BY id LIMIT 1", (oldest,))  # noqa: S608

    def settle(self, added: int, evicted: int, expired: int) -> None:
        """After the commit: count."""
        self.count += added - evicted - expired
        self.evicted += evicted
        self.expired += expired

    def _cut(self, query: str, values: tuple[float, ...]) -> int:
        found = self._database.read(query, values)
        first = found[0][0] if found else self._next
        gone = 0
        for table, column in reversed(self._followers):
            gone = self._database.execute(f"DELETE FROM {table} WHERE {column} < ?", (first,))  # noqa: S608
        return gone
