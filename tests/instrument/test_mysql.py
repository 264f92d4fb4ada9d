"""PyMySQL, aiomysql, asyncmy and mysqlclient, with a real MariaDB: one span for what their users call one call."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import aiomysql
import asyncmy
import pymysql
import pytest
from asyncmy import cursors as asyncmy_cursors

from kit.real.databases import Mariadb
from record.recorded import recording
from swagent import Config, local_span
from swagent.instrument import instrument, settings, uninstrument
from swagent.record.trace.model import SpanRecord

from .loops import on_asyncio
from .trees import trees

pytestmark = [pytest.mark.anyio, pytest.mark.e2e, pytest.mark.timeout(600)]
INSTRUMENTED = ("aiomysql", "asyncmy", "pymysql")
COLLECTS = ("aiomysql", "asyncmy", "mysqlclient", "pymysql")
AGAINST = "a real MariaDB"
HAS_MYSQLCLIENT = find_spec("MySQLdb") is not None
if HAS_MYSQLCLIENT:
    import_module("MySQLdb.connections")

BLOCKING = [
    pytest.param("pymysql", id="pymysql"),
    pytest.param(
        "MySQLdb",
        id="mysqlclient",
        marks=pytest.mark.skipif(
            not HAS_MYSQLCLIENT, reason="mysqlclient is not installed: it has no wheels for Linux"
        ),
    ),
]
NAMES = {"pymysql": "Mysql/PyMsql/", "MySQLdb": "Mysql/MysqlClient/"}
COMPONENTS = {"pymysql": "PYMYSQL", "MySQLdb": "MYSQLCLIENT"}
not_blocking = pytest.mark.parametrize("driver", [aiomysql, asyncmy], ids=["aiomysql", "asyncmy"])
CALLS = ["execute INSERT", "executemany INSERT", "execute SELECT", "callproc CALL"]
CREATE = (
    "CREATE TEMPORARY TABLE orders (id int PRIMARY KEY, item text)",
    "CREATE OR REPLACE PROCEDURE answer() SELECT 42",
)


_driver = ""


@pytest.fixture(autouse=True)
def _choose_driver(request: pytest.FixtureRequest) -> Iterator[None]:
    """The one that a test is about. mysqlclient is instrumented where it is there."""
    global _driver  # noqa: PLW0603, RUF100
    chosen: Any = request.node.callspec.params.get("driver") if hasattr(request.node, "callspec") else None
    name = chosen if isinstance(chosen, str) else getattr(chosen, "__name__", "")
    _driver = "mysqlclient" if name == "MySQLdb" else name
    if HAS_MYSQLCLIENT:
        instrument("mysqlclient", config=Config(trace_calls_outside_requests=True))
    yield
    if HAS_MYSQLCLIENT:
        uninstrument("mysqlclient")


def collected_by(span: SpanRecord) -> str:
    """They have names and components in common."""
    return _driver


def _expected(name: str, component: str, address: str, calls: list[str]) -> list[str]:
    at = f"{component}/DATABASE {address} db.type=Mysql db.instance=shop db.operation="
    words = [call.split() for call in calls]
    return ["Local job", *(f"  Exit {name}{method} {at}{operation}" for method, operation in words)]


def _connect(driver: str, server: Mariadb) -> Any:
    return import_module(driver).connect(host="127.0.0.1", port=server.port, user="root", database="shop")


@pytest.mark.parametrize("driver", BLOCKING)
def test_every_call_is_one_span(driver: str, mariadb: Mariadb) -> None:
    connection = _connect(driver, mariadb)
    with connection.cursor() as cursor:
        for statement in CREATE:
            cursor.execute(statement)
        connection.commit()
        with recording() as recorder, local_span("job"):
            cursor.execute("INSERT INTO orders VALUES (%s, %s)", (1, "a"))
            cursor.executemany("INSERT INTO orders VALUES (%s, %s)", [(2, "b"), (3, "c")])
            cursor.execute("SELECT id FROM orders ORDER BY id")
            assert [row[0] for row in cursor.fetchall()] == [1, 2, 3]
            cursor.callproc("answer")
            while cursor.nextset():
                pass
            connection.commit()
    connection.close()
    assert trees(recorder, summaries=False).splitlines() == _expected(
        NAMES[driver], COMPONENTS[driver], mariadb.address, CALLS
    )


@pytest.mark.parametrize("driver", BLOCKING)
def test_unbuffered_and_other_cursors_too(driver: str, mariadb: Mariadb) -> None:
    connection, cursors = _connect(driver, mariadb), import_module(f"{driver}.cursors")
    with recording() as recorder:
        for chosen in (cursors.SSCursor, cursors.DictCursor, cursors.SSDictCursor):
            with connection.cursor(chosen) as cursor:
                cursor.execute("SELECT 1 AS id")
                assert list(cursor.fetchall()) in ([(1,)], [{"id": 1}])
    connection.close()
    assert recorder.names == [[NAMES[driver] + "execute"]] * 3


@pytest.mark.parametrize("driver", BLOCKING)
@pytest.mark.parametrize(
    ("statement", "code", "message"),
    [
        ("INSERT INTO orders VALUES (1, 'secret'), (1, 'b')", "1062", "Duplicate entry …"),
        ("SELECT 'secret' FRM orders", "1064", "You have an error in your SQL syntax; check the manual that"),
    ],
)
def test_an_error_shows_without_values(driver: str, statement: str, code: str, message: str, mariadb: Mariadb) -> None:
    connection = _connect(driver, mariadb)
    with connection.cursor() as cursor:
        cursor.execute(CREATE[0])
        with recording() as recorder, pytest.raises(import_module(driver).Error):
            cursor.execute(statement)
    connection.close()
    [span] = recorder.only.spans
    log = dict(span.logs[0][1])
    assert span.failed
    assert log["error.code"] == code
    assert log["message"].startswith(message)
    assert log["message"].endswith(" …")


def test_a_closed_cursor_fails_as_ever(mariadb: Mariadb, caplog: pytest.LogCaptureFixture) -> None:
    connection = _connect("pymysql", mariadb)
    cursor = connection.cursor()
    cursor.close()
    with recording() as recorder, pytest.raises(pymysql.ProgrammingError, match="Cursor closed"):
        cursor.execute("SELECT 1")
    connection.close()
    # what other tests left behind may have its say meanwhile, in threads of its own
    found = [record for record in caplog.records if record.thread == threading.get_ident()]
    assert (recorder.segments, found) == ([], [])


@pytest.fixture
async def connect(mariadb: Mariadb, driver: Any) -> AsyncIterator[Callable[..., Awaitable[Any]]]:
    opened: list[Any] = []

    async def connect() -> Any:
        place = {"host": "127.0.0.1", "port": mariadb.port, "user": "root", "db": "shop"}
        opened.append(await driver.connect(**place))
        return opened[-1]

    yield connect
    for each in opened:
        each.close()


@not_blocking
@on_asyncio
async def test_every_call_is_one_span_without_blocking(driver: Any, connect: Any, mariadb: Mariadb) -> None:
    connection = await connect()
    async with connection.cursor() as cursor:
        for statement in CREATE:
            await cursor.execute(statement)
        await connection.commit()
        with recording() as recorder, local_span("job"):
            await cursor.execute("INSERT INTO orders VALUES (%s, %s)", (1, "a"))
            await cursor.executemany("INSERT INTO orders VALUES (%s, %s)", [(2, "b"), (3, "c")])
            await cursor.execute("SELECT id FROM orders ORDER BY id")
            assert [row[0] for row in await cursor.fetchall()] == [1, 2, 3]
            await cursor.callproc("answer")
            await connection.commit()
    assert trees(recorder, summaries=False).splitlines() == _expected(
        "Mysql/PyMsql/", "PYMYSQL", mariadb.address, CALLS
    )


@not_blocking
@on_asyncio
async def test_unbuffered_and_other_cursors_too_without_blocking(driver: Any, connect: Any) -> None:
    connection, cursors = await connect(), import_module(f"{driver.__name__}.cursors")
    classes = cursors.SSCursor, cursors.DictCursor, cursors.SSDictCursor
    calls = [(chosen, partial(connection.cursor, chosen)) for chosen in classes]
    if driver is asyncmy:  # aiomysql has no name for it
        calls += [(chosen, partial(connection.cursor, cursor=chosen)) for chosen in classes]
    with recording() as recorder:
        for chosen, make in calls:
            async with make() as cursor:
                assert isinstance(cursor, chosen)
                await cursor.execute("SELECT %s AS id", (1,))
                assert list(await cursor.fetchall()) in ([(1,)], [{"id": 1}])
    assert recorder.names == [["Mysql/PyMsql/execute"]] * len(calls)


@not_blocking
@on_asyncio
async def test_an_error_and_a_cancellation_show(driver: Any, connect: Any) -> None:
    connection = await connect()
    async with connection.cursor() as cursor:
        with recording() as recorder:
            with pytest.raises(driver.errors.ProgrammingError if driver is asyncmy else pymysql.err.ProgrammingError):
                await cursor.execute("SELECT * FROM nowhere")
            query = asyncio.ensure_future(cursor.execute("SELECT SLEEP(30)"))
            await asyncio.sleep(0)  # until it waits for the answer
            query.cancel()
            with pytest.raises(asyncio.CancelledError):
                await query
            failed, cancelled = (segment.spans[0] for segment in recorder.segments)
        assert dict(failed.logs[0][1])["error.code"] == "1146"
        assert dict(cancelled.tags)["outcome"] == "cancelled"
        assert (failed.failed, cancelled.failed) == (True, False)


def test_asyncmys_unbuffered_cursor_stays_what_it_is() -> None:
    """A subclass of it takes each row by itself."""
    assert asyncmy_cursors.SSCursor.__subclasses__() == [asyncmy_cursors.SSDictCursor]


@pytest.mark.parametrize("driver", [asyncmy], ids=["asyncmy"])
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_nothing_else_can_be_set_on_asyncmys_cursor(connect: Any) -> None:
    cursor = (await connect()).cursor()
    assert not hasattr(cursor, "__dict__")
    assert not hasattr(cursor, "__slots__")
    with pytest.raises(AttributeError):
        cursor.typo = 1


@pytest.mark.parametrize("driver", BLOCKING)
def test_a_statement_is_shown_where_settings_say_so(
    driver: str, mariadb: Mariadb, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "_current", settings.Settings(sql_statements=True, sql_parameters_max_length=100))
    connection = _connect(driver, mariadb)
    with recording() as recorder, connection.cursor() as cursor:
        cursor.execute(query="SELECT %s", args=("lamp",))
    connection.close()
    tags = dict(recorder.only.spans[0].tags)
    assert (tags["db.statement"], tags["db.sql.parameters"]) == ("SELECT %s", "('lamp',)")
