"""The store's database: SQLite, one writer, rows written in groups.

Rows wait in memory until `commit`, which writes all that wait in one transaction. In a file the journal is a
write-ahead log with `synchronous=NORMAL`: a commit reaches the operating system, not the disk. So what was
committed outlives the process, however it dies, but the last of it may not outlive a loss of power.
"""

from __future__ import annotations

import sqlite3
import weakref
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from . import tag_search
from .fair_lock import FairLock
from .schema import FORMAT, TABLES, WIDTHS, insertion

Row = tuple[Any, ...]
Values = Sequence[Any] | Mapping[str, Any]
# How many pages of the write-ahead log make SQLite fold it into the file: 16 MB, so that this, which waits for the
# disk, is rare.
_CHECKPOINT_PAGES = 4000


class StoreError(Exception):
    """The store's file cannot be opened, read or written."""


class Database:
    """Tables and the rows that wait for them. The store's lock guards these rows, a lock of its own the connection: so
    rows may be put while a query is under way in another thread."""

    def __init__(self, path: str) -> None:
        """:param path: the file; empty: in memory
        :raises StoreError: when the file cannot be opened, or is not ours
        """
        self.path = path
        self.waiting = 0
        self._lock = FairLock()
        self._rows: dict[str, list[Row]] = {table: [] for table in WIDTHS}
        self._statements: list[tuple[str, Row]] = []
        self._insertions = {table: insertion(table) for table in WIDTHS}
        try:
            self._connection = sqlite3.connect(
                path or ":memory:", isolation_level=None, check_same_thread=False, timeout=0.2
            )
            self._finalizer = weakref.finalize(self, self._connection.close)  # a store in memory need not be closed
            self._prepare()
        except sqlite3.Error as error:
            raise StoreError(f"cannot open the store {path}: {error}") from error

    def _prepare(self) -> None:
        execute = self._connection.execute
        if self.path:
            execute("PRAGMA locking_mode=EXCLUSIVE")  # a second collector on one file fails at its start
            execute("PRAGMA journal_mode=WAL")
            execute("PRAGMA synchronous=NORMAL")
            execute(f"PRAGMA wal_autocheckpoint={_CHECKPOINT_PAGES}")
        self._connection.create_function("contains", 2, _contains, deterministic=True)
        for name, function in tag_search.FUNCTIONS.items():
            self._connection.create_function(name, -1, function, deterministic=True)
        execute("BEGIN IMMEDIATE")
        (found,) = execute("PRAGMA user_version").fetchone()
        (tables,) = execute("SELECT count(*) FROM sqlite_master").fetchone()
        if not found and not tables:
            for statement in filter(str.strip, TABLES.split(";")):
                execute(statement)
            execute(f"PRAGMA user_version={FORMAT}")
        elif found != FORMAT:
            raise StoreError(f"{self.path} is no store of this version of swagent: name another file, or remove it")
        execute("COMMIT")

    def put(self, table: str, row: Row) -> None:
        """Add a row that waits for the next commit."""
        self._rows[table].append(row)
        self.waiting += 1

    def put_all(self, table: str, rows: list[Row]) -> None:
        """Add rows that wait for the next commit."""
        self._rows[table] += rows
        self.waiting += len(rows)

    def add_statement(self, statement: str, values: Row) -> None:
        """Add a statement that the next commit executes after the rows that wait."""
        self._statements.append((statement, values))
        self.waiting += 1

    def forget(self) -> None:
        """Drop the rows that wait."""
        for rows in self._rows.values():
            rows.clear()
        self._statements.clear()
        self.waiting = 0

    @contextmanager
    def transaction(self) -> Generator[None, None, None]:
        """Write what waits, and what the block executes: all or nothing. If that fails, the rows go on waiting. It
        waits for a query that is under way in another thread.

        :raises StoreError: when it cannot be written
        """
        with self._lock:
            yield from self._transaction()

    def _transaction(self) -> Generator[None, None, None]:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            for table, rows in self._rows.items():
                if rows:
                    self._connection.executemany(self._insertions[table], rows)
            for statement, values in self._statements:
                self._connection.execute(statement, values)
            yield
            self._connection.execute("COMMIT")
        except BaseException as error:  # a cancellation, or no memory, in the block or in SQLite
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            if isinstance(error, (sqlite3.Error, OverflowError, ValueError)):
                raise StoreError(f"cannot write to the store: {error}") from error
            raise
        self.forget()

    def execute(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Change something; returns how many rows it changed."""
        return self._connection.execute(statement, values).rowcount

    def read(self, query: str, values: Values = ()) -> list[Row]:
        """The committed rows that a query finds.

        :raises StoreError: when it cannot be read
        """
        try:
            with self._lock:
                return self._connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"cannot read the store: {error}") from error

    def close(self) -> None:
        """Close the file; the rows that wait are gone. Twice is harmless."""
        with self._lock:
            self._finalizer()


def _contains(body: object, needle: bytes) -> bool:
    """Whether a body, or a text, holds a needle of lower-case UTF-8; ASCII letters count in either case."""
    data = body if isinstance(body, bytes) else str(body).encode()
    return needle in data.lower()
