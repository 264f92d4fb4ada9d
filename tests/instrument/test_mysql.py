"""PyMySQL, aiomysql, asyncmy and mysqlclient, with a real MariaDB: one span for what their users call one call."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from inspect import isawaitable
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


def _connect(driver: str, server: Mariadb) -> Any:
    return import_module(driver).connect(host="127.0.0.1", port=server.port, user="root", database="shop")


async def _done(call: Any) -> Any:
    """What a call gives, of a driver that blocks and of one that does not."""
    return await call if isawaitable(call) else call


@asynccontextmanager
async def _opened(driver: Any, server: Mariadb) -> AsyncIterator[Any]:
    """A connection by any of the drivers."""
    if isinstance(driver, str):
        connection = _connect(driver, server)
    else:
        connection = await driver.connect(host="127.0.0.1", port=server.port, user="root", db="shop")
    yield connection
    connection.close()


def _cursors_of(driver: Any) -> Any:
    return import_module(f"{driver if isinstance(driver, str) else driver.__name__}.cursors")


every_driver = pytest.mark.parametrize(
    "driver", [*BLOCKING, pytest.param(aiomysql, id="aiomysql"), pytest.param(asyncmy, id="asyncmy")]
)


@every_driver
@on_asyncio
async def test_every_call_is_one_span(driver: Any, mariadb: Mariadb) -> None:
    async with _opened(driver, mariadb) as connection:
        cursor = await _done(connection.cursor())
        for statement in CREATE:
            await _done(cursor.execute(statement))
        await _done(connection.commit())
        with recording() as recorder, local_span("job"):
            await _done(cursor.execute("INSERT INTO orders VALUES (%s, %s)", (1, "a")))
            await _done(cursor.executemany("INSERT INTO orders VALUES (%s, %s)", [(2, "b"), (3, "c")]))
            await _done(cursor.execute("SELECT id FROM orders ORDER BY id"))
            assert [row[0] for row in await _done(cursor.fetchall())] == [1, 2, 3]
            await _done(cursor.callproc("answer"))
            while await _done(cursor.nextset()):
                pass
            await _done(connection.commit())
    at = f"{COMPONENTS.get(driver, 'PYMYSQL')}/DATABASE {mariadb.address} db.type=Mysql db.instance=shop db.operation="
    calls = ["execute INSERT", "executemany INSERT", "execute SELECT", "callproc CALL"]
    name = NAMES.get(driver, "Mysql/PyMsql/")
    expected = [f"  Exit {name}{method} {at}{operation}" for method, operation in map(str.split, calls)]
    assert trees(recorder, summaries=False).splitlines() == ["Local job", *expected]


@every_driver
@on_asyncio
async def test_unbuffered_and_other_cursors_too(driver: Any, mariadb: Mariadb) -> None:
    async with _opened(driver, mariadb) as connection:
        cursors = _cursors_of(driver)
        classes = cursors.SSCursor, cursors.DictCursor, cursors.SSDictCursor
        calls = [(chosen, partial(connection.cursor, chosen)) for chosen in classes]
        if driver is asyncmy:  # the others have another name for it, or none
            calls += [(chosen, partial(connection.cursor, cursor=chosen)) for chosen in classes]
        with recording() as recorder:
            for chosen, make in calls:
                cursor = await _done(make())
                assert isinstance(cursor, chosen)
                await _done(cursor.execute("SELECT %s AS id", (1,)))
                assert list(await _done(cursor.fetchall())) in ([(1,)], [{"id": 1}])
                await _done(cursor.close())
    assert recorder.names == [[NAMES.get(driver, "Mysql/PyMsql/") + "execute"]] * len(calls)


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


@not_blocking
@on_asyncio
async def test_an_error_and_a_cancellation_show(driver: Any, mariadb: Mariadb) -> None:
    async with _opened(driver, mariadb) as connection, connection.cursor() as cursor:
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
async def test_nothing_else_can_be_set_on_asyncmys_cursor(driver: Any, mariadb: Mariadb) -> None:
    async with _opened(driver, mariadb) as connection:
        cursor = connection.cursor()
        assert not hasattr(cursor, "__dict__")
        assert not hasattr(cursor, "__slots__")
        with pytest.raises(AttributeError):
            cursor.typo = 1


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
