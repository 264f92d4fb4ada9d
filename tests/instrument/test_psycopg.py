"""psycopg 3, with a real PostgreSQL: one span for what its user calls one call, synchronous or not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql

from kit.real.databases import Postgres
from record.recorded import recording
from swagent import local_span
from swagent.instrument import settings

from .loops import on_asyncio
from .trees import trees

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]
INSTRUMENTED = ("psycopg",)
AGAINST = "a real PostgreSQL"
NEEDS = ("psycopg-binary==3.1.8",)
NAME = "PostgreSQL/Psycopg/"
CREATE = "CREATE TEMPORARY TABLE orders (id int PRIMARY KEY, item text)"


@pytest.fixture
def place(postgres: Postgres) -> str:
    return postgres.url


@pytest.fixture
def connection(place: str) -> Iterator[Any]:
    with psycopg.connect(place) as connection:
        connection.execute(CREATE)
        connection.commit()
        yield connection


@pytest.fixture
async def async_connection(place: str) -> AsyncIterator[Any]:
    async with await psycopg.AsyncConnection.connect(place) as connection:
        await connection.execute(CREATE)
        await connection.commit()
        yield connection


def _expected(postgres: Postgres, calls: list[tuple[str, str]]) -> list[str]:
    at = f"PSYCOPG/DATABASE 127.0.0.1:{postgres.port} db.type=PostgreSQL db.instance=shop"
    return ["Local job", *(f"  Exit {NAME}{method} {at} db.operation={operation}" for method, operation in calls)]


def test_every_call_is_one_span(connection: Any, postgres: Postgres) -> None:
    with recording() as recorder:
        with local_span("job"), connection.cursor() as cursor:
            connection.execute("INSERT INTO orders VALUES (%s, %s)", (1, "a"))
            cursor.executemany("INSERT INTO orders VALUES (%s, %s)", [(2, "b"), (3, "c")])
            assert cursor.execute("SELECT count(*) FROM orders").fetchone() == (3,)
            with connection.cursor("on_server") as server_side:
                assert len(server_side.execute("SELECT * FROM orders").fetchall()) == 3
            with cursor.copy("COPY orders FROM STDIN") as copy:
                copy.write_row((4, "d"))
            assert [row[0] for row in cursor.stream("SELECT id FROM orders ORDER BY id")] == [1, 2, 3, 4]
            cursor.execute(sql.SQL("SELECT {} FROM {}").format(sql.Identifier("id"), sql.Identifier("orders")))
            with connection.pipeline():
                cursor.execute("SELECT 1")
            connection.commit()
        assert trees(recorder, summaries=False).splitlines() == _expected(
            postgres,
            [
                ("execute", "INSERT"), ("executemany", "INSERT"), ("execute", "SELECT"), ("execute", "SELECT"),
                ("copy", "COPY"), ("stream", "SELECT"), ("execute", "SELECT"), ("execute", "SELECT"),
            ],
        )  # fmt: skip


@on_asyncio
async def test_the_same_without_blocking(async_connection: Any, postgres: Postgres) -> None:
    connection = async_connection
    with recording() as recorder:
        with local_span("job"):
            async with connection.cursor() as cursor:
                await connection.execute("INSERT INTO orders VALUES (%s, %s)", (1, "a"))
                await cursor.executemany("INSERT INTO orders VALUES (%s, %s)", [(2, "b"), (3, "c")])
                async with connection.cursor("on_server") as server_side:
                    await server_side.execute("SELECT * FROM orders")
                    assert len(await server_side.fetchall()) == 3
                async with cursor.copy("COPY orders TO STDOUT") as copy:
                    assert len([row async for row in copy.rows()]) == 3
                assert [row[0] async for row in cursor.stream("SELECT id FROM orders ORDER BY id")] == [1, 2, 3]
            await connection.commit()
        assert trees(recorder, summaries=False).splitlines() == _expected(
            postgres,
            [
                ("execute", "INSERT"),
                ("executemany", "INSERT"),
                ("execute", "SELECT"),
                ("copy", "COPY"),
                ("stream", "SELECT"),
            ],
        )


def test_work_during_a_stream_is_not_below_it(connection: Any) -> None:
    with recording() as recorder:
        with local_span("job"), connection.cursor() as cursor:
            for (number,) in cursor.stream("SELECT generate_series(1, 3)"):
                with local_span(f"row {number}"):
                    pass
        assert [recorder.parent_of(name) for name in (NAME + "stream", "row 1", "row 3")] == ["job"] * 3
        assert recorder.span("row 3").end_time <= recorder.span(NAME + "stream").end_time


@on_asyncio
async def test_a_stream_that_is_left_early_ends_well_and_one_that_fails_does_not(async_connection: Any) -> None:
    with recording() as recorder:
        async with async_connection.cursor() as cursor:
            rows = cursor.stream("SELECT generate_series(1, 100000)")
            async for _ in rows:
                break
            await rows.aclose()
            [span] = recorder.only.spans
            assert (span.failed, span.logs) == (False, [])
            await async_connection.rollback()  # the query was cancelled
            with pytest.raises(psycopg.errors.DivisionByZero):
                _ = [row async for row in cursor.stream("SELECT 1 / (2 - n) FROM generate_series(1, 3) AS n")]
    assert trees(recorder, summaries=False).endswith("FAILED")


@pytest.mark.parametrize(
    ("statement", "parameters", "code", "message"),
    [
        (
            "INSERT INTO orders VALUES (1, 'a'), (1, 'b')",
            None,
            "23505",
            "duplicate key value violates unique constraint …",
        ),
        ("SELECT 'secret' FRM orders", None, "42601", "syntax error at or near …"),
        ("SELECT %s::int", ("secret",), "22P02", "invalid input syntax for type integer …"),
    ],
)
def test_an_error_shows_without_values(
    statement: str, parameters: Any, code: str, message: str, connection: Any
) -> None:
    with recording() as recorder, pytest.raises(psycopg.Error):
        connection.execute(statement, parameters)
    [span] = recorder.only.spans
    log = dict(span.logs[0][1])
    assert span.failed
    assert log["error.kind"].startswith("psycopg.errors.")
    assert (log["error.code"], log["message"]) == (code, message)


def test_a_composed_statement_is_shown_where_settings_say_so(connection: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "_current", settings.Settings(sql_statements=True, sql_parameters_max_length=100))
    with recording() as recorder:
        connection.execute(sql.SQL("SELECT {} FROM orders WHERE id = %s").format(sql.Identifier("id")), (7,))
    tags = dict(recorder.only.spans[0].tags)
    assert tags["db.statement"] == 'SELECT "id" FROM orders WHERE id = %s'
    assert tags["db.sql.parameters"] == "(7,)"
