"""asyncpg, with a real PostgreSQL: one span for what its user calls one call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import Any

import asyncpg
import pytest

from kit.real.databases import Postgres
from record.recorded import recording
from swagent import exit_span, local_span
from swagent.instrument import settings
from swagent.record.trace.context import current

from .loops import anyio_backend  # noqa: F401
from .trees import trees

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600), pytest.mark.anyio]
INSTRUMENTED = ("asyncpg",)
AGAINST = "a real PostgreSQL"


@pytest.fixture
def place(postgres: Postgres) -> dict[str, Any]:
    return {"host": "127.0.0.1", "port": postgres.port, "user": "shop", "database": "shop"}


@pytest.fixture
async def connection(place: dict[str, Any]) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(**place)
    await connection.execute("CREATE TEMPORARY TABLE orders (id int PRIMARY KEY, item text)")
    yield connection
    await connection.close(timeout=10)


def _at(postgres: Postgres, method: str, operation: str) -> str:
    return (
        f"Exit PostgreSQL/AsyncPG/{method} ASYNCPG/DATABASE 127.0.0.1:{postgres.port} db.type=PostgreSQL "
        f"db.instance=shop db.operation={operation}"
    )


async def test_every_call_is_one_span(connection: Any, postgres: Postgres) -> None:
    with recording() as recorder:
        with local_span("job"):
            await connection.execute("INSERT INTO orders VALUES (1, 'a')")
            await connection.execute("INSERT INTO orders VALUES ($1, $2)", 2, "b")
            await connection.executemany("INSERT INTO orders VALUES ($1, $2)", [(3, "c"), (4, "d")])
            assert [row["id"] for row in await connection.fetch("SELECT * FROM orders WHERE id < $1", 3)] == [1, 2]
            assert await connection.fetchval("SELECT count(*) FROM orders") == 4
            assert (await connection.fetchrow("SELECT * FROM orders ORDER BY id"))["item"] == "a"
            await connection.copy_records_to_table("orders", records=[(5, "e")])
            prepared = await connection.prepare("SELECT item FROM orders WHERE id = $1")
            assert await prepared.fetchval(5) == "e"
        assert trees(recorder, summaries=False).splitlines() == [
            "Local job",
            *(
                "  " + _at(postgres, method, operation)
                for method, operation in [
                    ("bind", "INSERT"),
                    ("bind", "INSERT"),
                    ("executemany", "INSERT"),
                    ("bind", "SELECT"),
                    ("bind", "SELECT"),
                    ("bind", "SELECT"),
                    ("copy", "COPY"),
                    ("prepare", "SELECT"),
                    ("bind", "SELECT"),
                ]
            ),
        ]


async def test_transactions_and_a_pool_add_none(place: dict[str, Any]) -> None:
    with recording() as recorder:
        async with asyncpg.create_pool(**place, min_size=1, max_size=10) as pool:

            async def job(number: int) -> None:
                with local_span(f"job {number}"):
                    async with pool.acquire() as connection, connection.transaction():
                        assert await connection.fetchval("SELECT $1::int", number) == number

            await asyncio.gather(*(job(number) for number in range(10)))
            await pool.fetchval("SELECT 1")
        bind = "PostgreSQL/AsyncPG/bind"
        assert sorted(recorder.names) == sorted([*([f"job {number}", bind] for number in range(10)), [bind]])


async def test_iterating_a_cursor_is_one_call_and_what_is_done_meanwhile_is_not_below_it(connection: Any) -> None:
    with recording() as recorder:
        async with connection.transaction():
            with local_span("job"):
                async for row in connection.cursor("SELECT generate_series(1, 200) AS n", prefetch=50):
                    if row["n"] % 100 == 0:
                        with local_span(f"row {row['n']}"):
                            pass
        assert [recorder.parent_of(name) for name in ("PostgreSQL/AsyncPG/bind", "row 100", "row 200")] == ["job"] * 3
        call = recorder.span("PostgreSQL/AsyncPG/bind")
        # the last rows are here, and the call has ended, before the last of them is looked at
        assert recorder.span("row 100").end_time <= call.end_time
        assert not call.failed
        assert call.tags[-1] == ("db.operation", "SELECT")


async def test_a_cursor_that_is_left_early_ends_well_and_one_that_fails_does_not(connection: Any) -> None:
    with recording() as recorder:
        async with connection.transaction():
            async for _ in connection.cursor("SELECT generate_series(1, 200)"):
                break
            recorder.segments.pop()
            with pytest.raises(asyncpg.DivisionByZeroError):
                async for _ in connection.cursor("SELECT 1 / (100 - n) FROM generate_series(1, 200) AS n"):
                    pass
        assert trees(recorder, summaries=False).endswith("db.operation=SELECT FAILED")


async def test_a_cursor_by_hand_is_a_call_each_time(connection: Any) -> None:
    with recording() as recorder:
        async with connection.transaction():
            with local_span("job"):
                cursor = await connection.cursor("SELECT generate_series(1, 10)")
                await cursor.fetch(2)
                await cursor.fetchrow()
                await cursor.forward(3)
        assert recorder.names == [["job", *["PostgreSQL/AsyncPG/bind"] * 4]]


@pytest.mark.parametrize(
    ("statement", "arguments", "code", "message"),
    [
        (
            "INSERT INTO orders VALUES (1, 'a'), (1, 'b')",
            (),
            "23505",
            "duplicate key value violates unique constraint …",
        ),
        ("SELECT 'secret' FRM orders", (), "42601", "syntax error at or near …"),
        ("SELECT $1::int", ("secret",), "22000", "invalid input for query argument $1 …"),
    ],
)
async def test_an_error_shows_without_values(
    statement: str, arguments: tuple[Any, ...], code: str, message: str, connection: Any
) -> None:
    with recording() as recorder, pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError)):
        await connection.execute(statement, *arguments)
    [span] = recorder.only.spans
    log = dict(span.logs[0][1])
    assert span.failed
    assert log["error.kind"].startswith("asyncpg.exceptions.")
    assert (log.get("error.code", ""), log["message"]) == (code, message)


async def test_a_statement_is_shown_where_settings_say_so(connection: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "_current", settings.Settings(sql_statements=True, sql_parameters_max_length=100))
    with recording() as recorder, pytest.raises(asyncpg.UniqueViolationError):
        await connection.execute("INSERT INTO orders VALUES ($1, 'a'), ($1, 'b')", 7)
    [span] = recorder.only.spans
    assert dict(span.tags)["db.statement"] == "INSERT INTO orders VALUES ($1, 'a'), ($1, 'b')"
    assert dict(span.tags)["db.sql.parameters"] == "(7,)"
    # what is in PostgreSQL's lines below, such as DETAIL, is not
    assert dict(span.logs[0][1])["message"] == 'duplicate key value violates unique constraint "orders_pkey"'


async def test_a_timeout_and_a_cancellation_show_as_such(connection: Any, place: dict[str, Any]) -> None:
    observer = await asyncpg.connect(**place)
    sleeping = "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep($1)' AND wait_event = 'PgSleep'"
    with recording() as recorder:
        with pytest.raises(asyncio.TimeoutError):
            # where the server is not yet at it when the time is up, it goes on to the end
            await connection.fetchval("SELECT pg_sleep(5)", timeout=0.2)
        with exit_span("looking on", "127.0.0.1:5432"):
            query = asyncio.ensure_future(_alone(connection.fetchval("SELECT pg_sleep($1)", 30)))
            # a cancellation that comes before is lost: a query that is active may still be on its way
            while not await observer.fetchval(sleeping):
                pass
            query.cancel()
            with pytest.raises(asyncio.CancelledError):
                await query
    await observer.close(timeout=10)
    timed_out, cancelled = (segment.spans[0] for segment in recorder.segments[:2])
    assert [dict(span.tags)["outcome"] for span in (timed_out, cancelled)] == ["timed_out", "cancelled"]
    assert (timed_out.failed, cancelled.failed) == (True, False)


async def _alone(query: Awaitable[Any]) -> None:
    """In no trace that there is already."""
    current.set(None)
    await query
