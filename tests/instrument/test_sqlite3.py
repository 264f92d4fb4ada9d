"""sqlite3, and aiosqlite by it: one span a query, named after its file; the agent's own collector is not recorded."""

from __future__ import annotations

import _sqlite3
import _thread
import abc
import asyncio
import pickle
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import aiosqlite
import pytest

from record.recorded import Recorder
from swagent import exit_span, local_span
from swagent.collector.store.database import Database
from swagent.instrument import settings, uninstrument

from .loops import on_asyncio
from .trees import trees

INSTRUMENTED = ("aiosqlite", "sqlite3")
AGAINST = "real SQLite"
NEEDS = ("protobuf>=5.26",)  # the collector's database
# before anything is replaced
Original, OriginalCursor = sqlite3.Connection, sqlite3.Cursor
before = sqlite3.connect(":memory:")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "shop.db"


@pytest.fixture
def connection(file: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT)")
    yield connection
    connection.close()


def test_a_query_is_one_span(connection: sqlite3.Connection, recorder: Recorder) -> None:
    with local_span("job"), connection:
        connection.execute("INSERT INTO orders (item) VALUES (?)", ("secret",))
        connection.executemany("INSERT INTO orders (item) VALUES (?)", [("a",), ("b",)])
        cursor = connection.cursor()
        rows = cursor.execute("SELECT item FROM orders").fetchall()
        connection.executescript("DELETE FROM orders; BEGIN; COMMIT")
    assert rows == [("secret",), ("a",), ("b",)]
    at = "SQLITE/DATABASE shop.db db.type=SQLite db.operation="
    assert trees(recorder, summaries=False) == (
        "Local job\n"
        f"  Exit SQLite/sqlite3/execute {at}INSERT\n"
        f"  Exit SQLite/sqlite3/executemany {at}INSERT\n"
        f"  Exit SQLite/sqlite3/execute {at}SELECT\n"
        f"  Exit SQLite/sqlite3/executescript {at}DELETE"
    )


class Where:
    """A path of a foreign kind."""

    def __init__(self, path: Path) -> None:
        self.path, self.asked = path, 0

    def __fspath__(self) -> str:
        self.asked += 1
        return str(self.path)


def test_a_path_is_asked_for_once_and_a_query_names_its_kind(file: Path, recorder: Recorder) -> None:
    where = Where(file)
    with local_span("job"), closing(sqlite3.connect(where)) as connection:
        connection.execute("SELECT 1")
    assert where.asked == 1
    assert " Where db.type=SQLite" in trees(recorder, summaries=False)


def test_nothing_else_can_be_set_on_a_connection_and_a_cursor(file: Path) -> None:
    class Own(sqlite3.Connection):
        def __setattr__(self, name: str, value: object) -> None:
            raise AssertionError(name)

    class Small(sqlite3.Connection):
        __slots__ = ("own",)

    sqlite3.connect(file, factory=Own).close()
    for factory in (sqlite3.Connection, Small):
        with closing(sqlite3.connect(file, factory=factory)) as connection:
            for each in (connection, connection.cursor()):
                assert not hasattr(each, "__dict__")
                assert not hasattr(each, "__slots__") or factory is Small
                with pytest.raises(AttributeError):
                    each.typo = 1  # type: ignore[union-attr]


def test_transactions_have_no_spans(recorder: Recorder) -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    for statement in ("BEGIN", "SAVEPOINT a", "release a", "/* mine */ COMMIT;", "PRAGMA user_version"):
        connection.execute(statement)
    connection.close()
    assert trees(recorder, summaries=False) == (
        "Exit SQLite/sqlite3/execute SQLITE/DATABASE :memory: db.type=SQLite db.operation=PRAGMA"
    )


def test_a_query_shows_its_tables_and_no_value(connection: sqlite3.Connection, recorder: Recorder) -> None:
    connection.execute("CREATE TABLE lamps (name text)")
    for name in ("a", "b"):
        connection.execute(f"SELECT * FROM lamps WHERE name = '{name}'")
    shown = [segment.spans[0].tags for segment in recorder.segments]
    assert [dict(tags)["db.query.summary"] for tags in shown] == ["CREATE lamps", "SELECT lamps", "SELECT lamps"]
    assert [key for key, _ in shown[-1]] == ["db.type", "db.operation", "db.query.summary"]


def test_statement_and_parameters_are_shown_where_settings_say_so(
    connection: sqlite3.Connection, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "_current", settings.Settings(sql_statements=True, sql_parameters_max_length=10))
    connection.execute("SELECT ?, ?", ("lamp", "a shade of green"))
    assert dict(recorder.only.spans[0].tags) == {
        "db.type": "SQLite",
        "db.operation": "SELECT",
        "db.statement": "SELECT ?, ?",
        "db.sql.parameters": "('lamp', '",
    }


@pytest.mark.parametrize(
    ("statement", "is_shown", "message"),
    [
        ("INSERT INTO orders (id) VALUES (1), (1)", False, "UNIQUE constraint failed …"),
        ("SELECT 'secret' FRM orders", False, "near …"),
        ("SELECT 'secret' FRM orders", True, 'near "orders": syntax error'),
    ],
)
def test_a_failure_shows_without_values(
    statement: str,
    is_shown: bool,
    message: str,
    connection: sqlite3.Connection,
    recorder: Recorder,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(settings, "_current", settings.Settings(sql_statements=is_shown))
    with pytest.raises(sqlite3.Error) as raised:
        connection.execute(statement)
    [span] = recorder.only.spans
    [(_, fields)] = span.logs
    log = dict(fields)
    assert span.failed
    assert (log["event"], log["error.kind"], log["message"]) == ("error", f"sqlite3.{raised.typename}", message)


class Quiet(sqlite3.Connection):
    """A connection of the application's own."""


def test_connections_and_cursors_are_of_the_modules_classes() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        assert type(connection) is sqlite3.Connection is sqlite3.dbapi2.Connection
        assert type(connection.cursor()) is type(connection.execute("SELECT 1")) is sqlite3.Cursor
        assert isinstance(connection, Original)
        assert isinstance(connection.cursor(), OriginalCursor)
        assert issubclass(sqlite3.Connection, Original)
        assert connection.cursor(sqlite3.Cursor).connection is connection
    assert repr(sqlite3.Connection) == repr(Original) == "<class 'sqlite3.Connection'>"
    assert sqlite3.Connection.__doc__ == Original.__doc__
    for each in (sqlite3.Connection, sqlite3.Cursor):
        assert pickle.loads(pickle.dumps(each)) is each
    assert sqlite3.connect is sqlite3.dbapi2.connect


def test_an_object_that_was_made_before_is_of_the_modules_classes_as_well() -> None:
    with closing(before):
        assert type(before) is Original
        assert isinstance(before, sqlite3.Connection)
        assert isinstance(before.cursor(), sqlite3.Cursor)
        assert issubclass(Quiet, sqlite3.Connection)
        assert not isinstance(before, type("Theirs", (sqlite3.Connection,), {}))


def test_classes_made_of_the_replaced_ones_are_used_as_they_are(recorder: Recorder) -> None:
    class Abstract(abc.ABC):
        @abc.abstractmethod
        def loud(self) -> str: ...

    class Theirs(sqlite3.Cursor, Abstract):
        def loud(self) -> str:
            return "A"

    class Mine(sqlite3.Connection, Abstract):
        def loud(self) -> str:
            return "B"

    with closing(sqlite3.connect(":memory:", factory=Mine)) as connection:
        assert type(connection) is Mine
        assert type(connection.cursor(Theirs)) is Theirs
        assert connection.cursor(Theirs).execute("SELECT 1").fetchone() == (1,)
        uninstrument("sqlite3")
        assert isinstance(connection, sqlite3.Connection)
    assert recorder.names == [["SQLite/sqlite3/execute"]]


def test_a_thread_that_does_nothing_else_connects() -> None:
    done = threading.Event()
    connections: list[sqlite3.Connection] = []

    class Theirs(sqlite3.Connection):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            connections.append(self)
            done.set()

    _thread.start_new_thread(sqlite3.connect, (":memory:",), {"factory": Theirs, "check_same_thread": False})
    assert done.wait(10)
    connections.pop().close()


@pytest.mark.parametrize("name", [None, 1, "swagent", "app"])
def test_modules_of_any_name_connect(name: object, recorder: Recorder) -> None:
    namespace: dict[str, Any] = {"__name__": name, "sqlite3": sqlite3}
    exec("connection = sqlite3.connect(':memory:')", namespace)
    with closing(namespace["connection"]) as connection:
        connection.execute("SELECT 1")
    assert recorder.names == [["SQLite/sqlite3/execute"]]


def test_the_module_is_as_it_was_once_no_agent_records() -> None:
    uninstrument("sqlite3")
    assert sqlite3.connect is sqlite3.dbapi2.connect is _sqlite3.connect
    assert type(sqlite3.connect).__name__ == "builtin_function_or_method"
    assert sqlite3.Connection is sqlite3.dbapi2.Connection is Original
    assert sqlite3.Cursor is sqlite3.dbapi2.Cursor is OriginalCursor


def test_the_collectors_own_store_is_not_recorded(recorder: Recorder, tmp_path: Path) -> None:
    store = Database(str(tmp_path / "store.db"))
    store.close()
    assert not recorder.segments


@on_asyncio
async def test_aiosqlite_is_recorded_in_its_thread_below_who_calls(file: Path, recorder: Recorder) -> None:
    async with aiosqlite.connect(file) as connection:
        await connection.execute("CREATE TABLE orders (item TEXT)")
        recorder.segments.clear()

        async def job(number: int) -> None:
            with local_span(f"job {number}"):
                async with connection.execute("SELECT ?", (number,)) as cursor:
                    assert await cursor.fetchone() == (number,)

        await asyncio.gather(*(job(number) for number in range(20)))
        with exit_span("by hand", "shop.db"):
            await connection.execute("SELECT 1")
    assert sorted(recorder.names) == sorted(
        [*([f"job {number}", "SQLite/sqlite3/execute"] for number in range(20)), ["by hand"]]
    )


def test_a_failure_shows_which_line_of_the_application_failed(
    connection: sqlite3.Connection, recorder: Recorder
) -> None:
    def ask_for_nothing() -> None:
        connection.execute("SELECT * FROM nothing")

    with pytest.raises(sqlite3.OperationalError), local_span("job"):
        ask_for_nothing()
    [(_, fields)] = recorder.span("SQLite/sqlite3/execute").logs
    stack = dict(fields)["stack"].splitlines()
    assert stack[-1].endswith(f"in {ask_for_nothing.__name__}")
    assert __file__ in stack[-1]
    assert not [line for line in stack if "swagent/instrument" in line.replace("tests/instrument", "")]


@pytest.mark.filterwarnings("ignore:Passing more than 1 positional argument:DeprecationWarning")
@pytest.mark.parametrize(
    ("method", "arguments", "named"),
    [
        *((method, (), {}) for method in ("execute", "executemany", "executescript")),
        ("execute", ("SELECT 1", (), 1), {}),
        ("executemany", ("SELECT 1",), {}),
        ("executescript", ("SELECT 1", ()), {}),
        ("cursor", (None,), {}),
        ("cursor", ([],), {}),
        ("cursor", (), {"no_such": 1}),
    ],
)
def test_a_wrong_call_of_a_connection_fails_as_the_modules_own(
    connection: sqlite3.Connection, method: str, arguments: tuple[Any, ...], named: dict[str, Any]
) -> None:
    with pytest.raises((TypeError, sqlite3.ProgrammingError)) as raised:
        getattr(connection, method)(*arguments, **named)
    with closing(_sqlite3.connect(":memory:")) as own, pytest.raises(type(raised.value)) as expected:
        getattr(own, method)(*arguments, **named)
    assert str(raised.value) == str(expected.value)
