"""SQLAlchemy: one span a query, the driver's own within it, over SQLite without a server and real servers elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio
import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from kit.real.databases import Mariadb, Postgres
from record.recorded import Recorder, recording
from swagent import exit_span, local_span
from swagent.instrument import settings
from swagent.record.trace.model import SpanRecord

from .loops import on_asyncio
from .trees import trees

pytestmark = pytest.mark.anyio
INSTRUMENTED = (
    "sqlalchemy", "sqlite3", "aiomysql", "aiosqlite", "asyncmy", "asyncpg", "psycopg", "psycopg2", "pymysql",
)  # fmt: skip
COLLECTS = ("sqlalchemy",)
AGAINST = "real SQLite, PostgreSQL and MariaDB"
NEEDS = ("greenlet", "psycopg-binary==3.1.8")
for module in INSTRUMENTED:
    import_module(module)

SQLITE = "SQLITE/DATABASE shop.db db.type=SQLite db.operation="
SELECT = f"Exit SQLite/SQLAlchemy/execute {SQLITE}SELECT"
INSERT = f"Exit SQLite/SQLAlchemy/execute {SQLITE}INSERT"


def collected_by(span: SpanRecord) -> str | None:
    return "sqlalchemy" if "/SQLAlchemy/" in span.name else None


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    item: Mapped[str] = mapped_column(sa.String(100))


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[sa.Engine]:
    engine = sa.create_engine(f"sqlite:///{tmp_path}/shop.db")
    Base.metadata.create_all(engine)
    yield engine
    engine.dispose()


@pytest.fixture
async def async_engine(tmp_path: Path) -> AsyncIterator[AsyncEngine]:
    engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path}/shop.db")
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
    yield engine
    await engine.dispose()


def test_a_session_is_a_span_for_each_query(engine: sa.Engine, recorder: Recorder) -> None:
    with local_span("job"), Session(engine) as session:
        session.add_all([Order(item="a"), Order(item="b")])
        session.commit()
        assert session.scalars(sa.select(Order.item).order_by(Order.id)).all() == ["a", "b"]
    assert trees(recorder, summaries=False) == f"Local job\n  {INSERT}\n  {SELECT}"


@pytest.mark.parametrize("is_shown", [False, True])
def test_an_error_shows_what_the_driver_said_and_neither_statement_nor_parameters(
    is_shown: bool, engine: sa.Engine, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "_current", settings.Settings(sql_statements=is_shown))
    with engine.connect() as connection, pytest.raises(sa.exc.IntegrityError):
        connection.execute(sa.insert(Order), [{"id": 1, "item": "secret"}, {"id": 1, "item": "secret"}])
    [span] = recorder.only.spans
    log = dict(span.logs[0][1])
    assert span.failed
    assert log["error.kind"] == "sqlalchemy.exc.IntegrityError"
    assert log["message"] == "UNIQUE constraint failed" + (": orders.id" if is_shown else " …")
    assert ("db.statement" in dict(span.tags)) is is_shown
    assert "secret" not in str((span.tags, span.logs))


@on_asyncio
async def test_greenlets_keep_the_context_and_jobs_at_once_are_kept_apart(
    async_engine: AsyncEngine, recorder: Recorder
) -> None:
    async def job(number: int) -> None:
        with local_span(f"job {number}"):
            async with AsyncSession(async_engine) as session:
                session.add(Order(item=str(number)))
                with local_span(f"flush {number}"):
                    await session.flush()
                await session.run_sync(lambda inner: inner.scalars(sa.select(Order)).all())
                await session.rollback()

    await asyncio.gather(*(job(number) for number in range(5)))
    name = "SQLite/SQLAlchemy/execute"
    assert sorted(recorder.names) == sorted([f"job {number}", f"flush {number}", name, name] for number in range(5))
    for segment in recorder.segments:
        assert [span.parent_id for span in sorted(segment.spans, key=lambda span: span.id)] == [-1, 0, 1, 0]


@on_asyncio
async def test_within_a_span_by_hand_all_is_one_call_and_a_task_that_outlives_it_goes_on(
    async_engine: AsyncEngine, recorder: Recorder
) -> None:
    async def query() -> None:
        async with async_engine.connect() as connection:
            await connection.execute(sa.text("SELECT 1"))

    has_asked, is_over = anyio.Event(), anyio.Event()

    async def child() -> None:
        await query()
        has_asked.set()
        await is_over.wait()
        await query()

    async with anyio.create_task_group() as group:
        with local_span("job"), exit_span("import", "shop.db"):
            group.start_soon(child)
            await query()
            await has_asked.wait()
        is_over.set()
    assert sorted(recorder.names) == [["SQLite/SQLAlchemy/execute"], ["job", "import"]]
    assert len({segment.trace_id for segment in recorder.segments}) == 1


@on_asyncio
async def test_a_cancelled_query_shows_as_one(async_engine: AsyncEngine, recorder: Recorder) -> None:
    slow = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000000) SELECT max(i) FROM n"
    async with async_engine.connect() as connection:
        query = asyncio.ensure_future(connection.execute(sa.text(slow)))
        await asyncio.sleep(0)  # until it waits for the thread
        query.cancel()
        with pytest.raises(asyncio.CancelledError):
            await query
        assert dict(recorder.only.spans[0].tags)["outcome"] == "cancelled"


REAL = [
    ("postgresql+asyncpg", "ASYNCPG", "PostgreSQL"),
    ("postgresql+psycopg_async", "PSYCOPG", "PostgreSQL"),
    ("postgresql+psycopg", "PSYCOPG", "PostgreSQL"),
    ("postgresql+psycopg2", "PSYCOPG", "PostgreSQL"),
    ("mysql+pymysql", "PYMYSQL", "Mysql"),
    ("mysql+aiomysql", "PYMYSQL", "Mysql"),
    ("mysql+asyncmy", "PYMYSQL", "Mysql"),
    pytest.param("mysql+mysqldb", "MYSQLCLIENT", "Mysql",
                 marks=pytest.mark.skipif(find_spec("MySQLdb") is None, reason="mysqlclient is not installed")),
]  # fmt: skip
BLOCKING = ("postgresql+psycopg", "postgresql+psycopg2", "mysql+pymysql", "mysql+mysqldb")


@pytest.mark.e2e
@pytest.mark.timeout(600)
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize(("dialect", "component", "system"), REAL)
async def test_over_every_driver_a_query_is_one_span(
    dialect: str, component: str, system: str, request: pytest.FixtureRequest
) -> None:
    server: Postgres | Mariadb = request.getfixturevalue("postgres" if system == "PostgreSQL" else "mariadb")
    user = "shop" if system == "PostgreSQL" else "root"
    url = f"{dialect}://{user}@{server.address}/shop"
    recorder = _blocking(url) if dialect in BLOCKING else await _not_blocking(url)
    at = f"{component}/DATABASE {server.address} db.type={system} db.instance=shop"
    call = f"  Exit {system}/SQLAlchemy/execute {at} db.operation="
    assert trees(recorder, summaries=False).splitlines() == [
        "Local job",
        *(call + operation for operation in ("INSERT", "SELECT", "SELECT")),
        f"{call}SELECT FAILED",
    ]
    [(_, log)] = recorder.only.spans[-2].logs if recorder.only.spans[-1].name == "job" else recorder.only.spans[-1].logs
    fields: dict[str, str] = dict(log)
    assert fields["error.code"] == ("42P01" if system == "PostgreSQL" else "1146")
    assert "secret" not in str(fields)


def _blocking(url: str) -> Recorder:
    engine = sa.create_engine(url)
    Base.metadata.create_all(engine)
    with recording() as recorder, local_span("job"), Session(engine) as session:
        _work(session)
    Base.metadata.drop_all(engine)
    engine.dispose()
    return recorder


async def _not_blocking(url: str) -> Recorder:
    engine = create_async_engine(url)
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
    with recording() as recorder, local_span("job"):
        async with AsyncSession(engine) as session:
            await session.run_sync(_work)
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.drop_all)
    await engine.dispose()
    return recorder


def _work(session: Any) -> None:
    session.add_all([Order(item=str(number)) for number in range(20)])
    session.flush()
    assert len(session.scalars(sa.select(Order)).all()) == 20
    # fetched piece by piece, from a cursor at the server
    streamed = session.execute(sa.text("SELECT id FROM orders"), execution_options={"yield_per": 5})
    assert len(list(streamed)) == 20
    session.commit()
    with pytest.raises(sa.exc.DBAPIError):
        session.execute(sa.text("SELECT * FROM nowhere WHERE a = :a"), {"a": "secret"})
    session.rollback()
