"""Connection pools: a call that has to wait for a connection leaves a span named after the pool, and meters of it."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import threading
import warnings
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.lowlevel
import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import create_async_engine

from kit.real.databases import Mariadb, Postgres
from kit.real.redis import Redis
from record.recorded import Recorder
from swagent import local_span
from swagent.inspection import pools_inside
from swagent.instrument import pool_waits
from swagent.profile.wait_names import name_of_chain, name_of_place
from swagent.record.suppression import suppress_instrumentation
from swagent.self_meters.pools import POOLS, Reading

from .http_server import HttpServer
from .loops import on_asyncio
from .mongo_peer import mongo_peer
from .trees import trees

INSTRUMENTED = ("aiohttp", "aiomysql", "asyncpg", "httpx", "psycopg", "pymongo", "redis", "sqlalchemy")
COLLECTS = ()
# their classes are not typed, or by parameters
aiohttp, aiomysql, asyncpg, httpx, psycopg_pool, pymongo, redis, redis_asyncio = (
    cast("Any", import_module(name))
    for name in (
        "aiohttp", "aiomysql", "asyncpg", "httpx", "psycopg_pool", "pymongo", "redis", "redis.asyncio",
    )
)  # fmt: skip
Take = Callable[[], AbstractContextManager[object]]
TakeAsync = Callable[[], AbstractAsyncContextManager[object]]


@pytest.fixture(autouse=True)
def every_wait_is_worth_a_span(monkeypatch: pytest.MonkeyPatch) -> None:
    """How long a wait takes is the machine's doing."""
    monkeypatch.setattr(pool_waits, "WORTH_A_SPAN", 0)


@pytest.fixture(autouse=True)
def without_pools_of_others() -> Iterator[None]:
    gc.collect()
    before = dict(POOLS._watched)
    POOLS._watched.clear()
    yield
    POOLS._watched.clear()
    POOLS._watched.update(before)


def meters() -> dict[str, dict[str, float]]:
    """The meters of each pool, by their names."""
    found: dict[str, dict[str, float]] = {}
    for sample in POOLS.collect():
        [(_, label)] = sample.labels
        found.setdefault(label, {})[sample.name.removeprefix("swagent_pool_")] = sample.value  # type: ignore[union-attr]
    return found


def waiting() -> float:
    return sum(pool["waiting"] for pool in meters().values())


async def another_waits() -> None:
    """Until a task waits for a pool. The library says nothing at that moment."""
    with anyio.fail_after(5):
        while not waiting():
            await anyio.lowlevel.checkpoint()


async def one_waits(take: TakeAsync) -> dict[str, dict[str, float]]:
    """One task holds the only connection until another one waits for it; returns the meters of that moment."""
    has_it = anyio.Event()
    seen: dict[str, dict[str, float]] = {}

    async def hold() -> None:
        try:
            async with take():
                has_it.set()
                await another_waits()
                seen.update(meters())
        finally:
            has_it.set()

    holding = asyncio.ensure_future(hold())
    await has_it.wait()
    with local_span("job"):
        async with take():
            pass
    await holding
    return seen


def one_thread_waits(take: Take) -> dict[str, dict[str, float]]:
    """The same with threads."""
    has_it, seen = threading.Event(), dict[str, dict[str, float]]()

    def hold() -> None:
        with take():
            has_it.set()
            for _ in range(3_000):
                if waiting():
                    break
                threading.Event().wait(0.001)
            seen.update(meters())

    thread = threading.Thread(target=hold)
    thread.start()
    assert has_it.wait(20)
    with local_span("job"), take():
        pass
    thread.join(20)
    return seen


def drawn(label: str, numbers: str = "pool.in_use=1 pool.limit=1") -> str:
    return f"  Local pool {label} pool={label} {numbers}"


def pools_in(recorder: Recorder) -> list[str]:
    """The lines of the waits in the trace of the job."""
    return [line for line in trees(recorder).splitlines() if " pool=" in line]


IN_USE = {"in_use": 1, "idle": 0, "waiting": 1, "limit": 1}


# -- SQLAlchemy -------------------------------------------------------------------------------------------------------


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[sa.Engine]:
    engine = sa.create_engine(f"sqlite:///{tmp_path}/shop.db", pool_size=1, max_overflow=0)
    with engine.connect() as connection:
        connection.execute(sa.text("SELECT 1"))
    yield engine
    engine.dispose()


def test_a_thread_waits_for_an_engine(engine: sa.Engine, recorder: Recorder) -> None:
    assert one_thread_waits(engine.connect) == {"shop.db": IN_USE}
    assert trees(recorder) == "Local job\n" + drawn("shop.db")
    wait, job = sorted(recorder.only.spans, key=lambda span: span.name != "pool shop.db")
    assert job.start_time <= wait.start_time <= wait.end_time <= job.end_time
    assert meters() == {"shop.db": {"in_use": 0, "idle": 1, "waiting": 0, "limit": 1}}


def test_a_pool_that_is_made_anew_keeps_its_name(engine: sa.Engine, recorder: Recorder) -> None:
    engine.dispose()
    gc.collect()
    assert one_thread_waits(engine.connect) == {"shop.db": IN_USE}
    assert pools_in(recorder) == [drawn("shop.db")]


class Untouched:
    """A lock that nothing may take."""

    def __enter__(self) -> None:
        raise AssertionError("the queue's lock was taken")

    def __exit__(self, *_: object) -> None:
        raise AssertionError


@pytest.mark.parametrize(("idle", "has_to_wait"), [(1, False), (0, True)])
def test_whether_an_engine_is_full_is_asked_without_its_lock(
    idle: int, has_to_wait: bool, engine: sa.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool: Any = engine.pool
    taken = [] if idle else [pool.connect()]
    with monkeypatch.context() as patch:
        patch.setattr(pool._pool, "mutex", Untouched())
        assert pools_inside.sqlalchemy_is_full(pool) is has_to_wait
    for each in taken:
        each.close()


@pytest.mark.parametrize("limits", [{"pool_size": 1, "max_overflow": -1}, {"pool_size": 0}])
def test_an_engine_without_a_limit_is_never_full(limits: dict[str, int], tmp_path: Path) -> None:
    engine = sa.create_engine(f"sqlite:///{tmp_path}/shop.db", **limits)
    taken = [engine.connect() for _ in range(3)]
    assert not pools_inside.sqlalchemy_is_full(engine.pool)
    for each in taken:
        each.close()
    engine.dispose()


def test_no_wait_and_a_short_one_leave_no_span(
    engine: sa.Engine, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with local_span("job"), engine.connect():
        pass
    monkeypatch.setattr(pool_waits, "WORTH_A_SPAN", 100)
    one_thread_waits(engine.connect)
    assert trees(recorder) == "Local job\nLocal job"


def test_engines_take_all_their_options(tmp_path: Path) -> None:
    # SQLAlchemy asks the code of the constructors for the names
    options = {"echo": False, "hide_parameters": True, "logging_name": "shop", "execution_options": {"shop": 1}}
    for_pools = {"pool_size": 1, "max_overflow": 0, "pool_timeout": 1.0, "pool_recycle": 60, "pool_use_lifo": True}
    engine = sa.create_engine(f"sqlite:///{tmp_path}/shop.db", **options, **for_pools)
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT 1").scalar() == 1
    engine.dispose()


@pytest.fixture
def full(tmp_path: Path) -> Iterator[sa.Engine]:
    """An engine whose only connection is taken, and that waits for a moment."""
    engine = sa.create_engine(f"sqlite:///{tmp_path}/shop.db", pool_size=1, max_overflow=0, pool_timeout=0.01)
    with engine.connect():
        yield engine
    engine.dispose()


def test_a_wait_that_is_given_up_has_failed(full: sa.Engine, recorder: Recorder) -> None:
    with local_span("job"), pytest.raises(sa.exc.TimeoutError):
        full.connect()
    assert pools_in(recorder) == [drawn("shop.db") + " FAILED"]
    assert meters()["shop.db"]["waiting"] == 0


def test_a_pool_without_an_engine_has_the_librarys_name(recorder: Recorder) -> None:
    connect: Any = partial(sqlite3.connect, ":memory:")
    pool = sa.pool.QueuePool(connect, pool_size=1, max_overflow=0, timeout=0.01)
    taken = pool.connect()
    with local_span("job"), pytest.raises(sa.exc.TimeoutError):
        pool.connect()
    assert pools_in(recorder) == [drawn("SQLAlchemy") + " FAILED"]
    taken.close()
    pool.dispose()


def test_outside_of_a_span_and_where_nothing_is_to_be_recorded_a_wait_has_none(
    full: sa.Engine, recorder: Recorder
) -> None:
    with pytest.raises(sa.exc.TimeoutError):
        full.connect()
    token = suppress_instrumentation.set(True)
    with local_span("job"), pytest.raises(sa.exc.TimeoutError):
        full.connect()
    suppress_instrumentation.reset(token)
    assert not recorder.segments


@on_asyncio
async def test_a_task_waits_for_an_asynchronous_engine(tmp_path: Path, recorder: Recorder) -> None:
    engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path}/shop.db", pool_size=1, max_overflow=0)
    async with engine.connect() as connection:
        await connection.execute(sa.text("SELECT 1"))
        assert await _name_of_waiter(engine.connect) == "pool shop.db"
    recorder.segments.clear()
    assert await one_waits(engine.connect) == {"shop.db": IN_USE}
    await engine.dispose()
    assert pools_in(recorder) == [drawn("shop.db")]


# -- asyncpg, psycopg, aiomysql, Redis ---------------------------------------------------------------------------------


def _of_asyncpg(server: Postgres) -> tuple[Any, str, str]:
    return asyncpg.create_pool(server.url, min_size=1, max_size=1), "acquire", f"{server.address}/shop"


def _of_psycopg(server: Postgres) -> tuple[Any, str, str]:
    secret = f"postgresql://shop:secret@{server.address}/shop"
    pool = psycopg_pool.AsyncConnectionPool(secret, min_size=1, max_size=1, open=False)
    return pool, "connection", f"{server.address}/shop"


def _of_aiomysql(server: Mariadb) -> tuple[Any, str, str]:
    place = {"host": "127.0.0.1", "port": server.port, "user": "root", "db": "shop"}
    return aiomysql.create_pool(minsize=1, maxsize=1, **place), "acquire", f"{server.address}/shop"


@pytest.mark.e2e
@pytest.mark.timeout(600)
@on_asyncio
@pytest.mark.parametrize(
    ("server", "make"),
    [("postgres", _of_asyncpg), ("postgres", _of_psycopg), ("mariadb", _of_aiomysql)],
    ids=["asyncpg", "psycopg", "aiomysql"],
)
async def test_a_task_waits_for_a_pool_of_a_driver(
    server: str, make: Callable[[Any], tuple[Any, str, str]], request: pytest.FixtureRequest, recorder: Recorder
) -> None:
    opening, method, label = make(request.getfixturevalue(server))
    async with opening as pool:
        if make is _of_psycopg:
            await pool.wait()
        assert await one_waits(getattr(pool, method)) == {label: IN_USE}
        assert pools_in(recorder) == [drawn(label)]
        assert meters() == {label: {"in_use": 0, "idle": 1, "waiting": 0, "limit": 1}}


@pytest.mark.e2e
@pytest.mark.timeout(600)
def test_a_thread_waits_for_a_pool_of_psycopg(postgres: Postgres, recorder: Recorder) -> None:
    arguments = {"host": "127.0.0.1", "port": postgres.port, "user": "shop", "dbname": "shop"}
    with psycopg_pool.ConnectionPool(kwargs=arguments, min_size=1, max_size=1, open=True) as pool:
        pool.wait()
        label = f"{postgres.address}/shop"
        assert one_thread_waits(pool.connection) == {label: IN_USE}
        assert pools_in(recorder) == [drawn(label)]


@pytest.mark.e2e
@pytest.mark.timeout(600)
@on_asyncio
async def test_a_command_of_redis_waits_for_a_blocking_pool(redis_server: Redis, recorder: Recorder) -> None:
    place = {"host": "127.0.0.1", "port": redis_server.port, "max_connections": 1}
    async_pool = redis_asyncio.BlockingConnectionPool(**place)
    pool = redis.BlockingConnectionPool(**place, db=2)

    @asynccontextmanager
    async def take_async() -> AsyncGenerator[None, None]:
        connection = await async_pool.get_connection()
        yield
        await async_pool.release(connection)

    @contextmanager
    def take() -> Generator[None, None, None]:
        connection = pool.get_connection()
        yield
        pool.release(connection)

    labels = [f"{redis_server.address}/{number}" for number in (0, 2)]
    assert (await one_waits(take_async))[labels[0]] == IN_USE
    await async_pool.aclose()
    assert one_thread_waits(take)[labels[1]] == IN_USE
    pool.disconnect()
    assert pools_in(recorder) == [drawn(label) for label in labels]


# -- HTTP -------------------------------------------------------------------------------------------------------------


@on_asyncio
async def test_a_request_of_httpx_waits_within_its_call(server: HttpServer, recorder: Recorder) -> None:
    async with httpx.AsyncClient(trust_env=False, limits=httpx.Limits(max_connections=1)) as client:

        @asynccontextmanager
        async def call() -> AsyncGenerator[None, None]:
            async with client.stream("GET", f"{server.url}/orders") as response:
                yield
                await response.aread()

        assert await one_waits(call) == {server.address: IN_USE}
    assert recorder.segments[-1].names == ["job", "/orders", f"pool {server.address}"]
    assert pools_in(recorder) == ["  " + drawn(server.address)]


def test_a_thread_waits_for_a_client_of_httpx(server: HttpServer, recorder: Recorder) -> None:
    with httpx.Client(trust_env=False, limits=httpx.Limits(max_connections=1)) as client:
        assert one_thread_waits(lambda: client.stream("GET", f"{server.url}/orders")) == {server.address: IN_USE}
    assert pools_in(recorder) == ["  " + drawn(server.address)]


@on_asyncio
@pytest.mark.parametrize("limits", [{"limit": 1}, {"limit_per_host": 1}], ids=["limit", "limit per host"])
async def test_a_request_of_aiohttp_waits_within_its_call(
    limits: dict[str, Any], server: HttpServer, recorder: Recorder
) -> None:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(**limits)) as session:
        seen = await one_waits(lambda: session.get(f"{server.url}/stream"))
    [of_pool] = seen.values()
    assert {"in_use": 1, "waiting": 1}.items() <= of_pool.items()
    assert pools_in(recorder) == ["  " + drawn(server.address)]


# -- MongoDB ----------------------------------------------------------------------------------------------------------


def test_a_thread_waits_for_a_pool_of_pymongo(recorder: Recorder) -> None:
    with mongo_peer() as peer, pymongo.MongoClient(f"mongodb://127.0.0.1:{peer.port}", maxPoolSize=1) as client:

        @contextmanager
        def take() -> Generator[None, None, None]:
            server: Any = client._get_topology().select_server(lambda servers: servers, "test")
            with server.pool.checkout():
                yield

        client.admin.command("ping")
        seen = one_thread_waits(take)
    label = f"127.0.0.1:{peer.port}"
    assert seen[label]["waiting"] == 1
    assert pools_in(recorder) == [drawn(label)]


# -- names ------------------------------------------------------------------------------------------------------------


def test_a_pool_that_cannot_be_read_is_taken_from_as_ever(recorder: Recorder) -> None:
    def broken(_: object) -> bool:
        raise AttributeError("renamed")

    def unread(_: object) -> Any:
        raise AttributeError("renamed")

    for kind in (pool_waits.PoolKind(broken, unread), pool_waits.PoolKind(lambda _: True, unread)):
        acquire = pool_waits.around_acquire(kind)(lambda pool, number: number)
        with local_span("job"):
            assert acquire(object(), 7) == 7
    assert trees(recorder) == "Local job\nLocal job"


@on_asyncio
async def test_a_task_that_is_cancelled_before_it_runs_waits_for_nothing(recorder: Recorder) -> None:
    class Pool:
        pass

    async def take(_: object) -> None:
        raise AssertionError("it is cancelled")

    kind = pool_waits.PoolKind(lambda _: True, lambda _: Reading("orders-db:5432", 1, 0, 1))
    # plain, as a coroutine function is that a library decorates
    acquire = pool_waits.around_acquire(kind)(lambda pool: take(pool))
    pool = Pool()
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        task: asyncio.Task[None] = asyncio.create_task(acquire(pool))
        task.cancel()
        await asyncio.wait([task])
        del task
        gc.collect()
    assert not heard, "nor does Python warn without the agent"
    assert meters()["orders-db:5432"]["waiting"] == 0
    with pytest.warns(RuntimeWarning, match="never awaited") as once:
        acquire(pool)
    assert len(once) == 1
    assert meters()["orders-db:5432"]["waiting"] == 0


def test_there_are_so_many_pools_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    class Thing:
        pass

    kept = [Thing() for _ in range(300)]
    for number, each in enumerate(kept):
        POOLS.watch(each, lambda _, number=number: Reading(f"db-{number}:1", 1, 0, 2))  # type: ignore[misc]
    found = meters()
    assert len(found) == 65
    assert found["_overflow"]["in_use"] == 256 - 64
    assert found["_overflow"]["limit"] == 2 * (256 - 64)
    del kept, each
    gc.collect()
    assert not POOLS.collect()


async def _name_of_waiter(take: TakeAsync) -> str:
    """The name that the time split gives to the wait of a task."""

    async def use() -> None:
        async with take():
            pass

    task = asyncio.ensure_future(use())
    await another_waits()
    await asyncio.sleep(0)
    name = name_of_chain(task.get_coro())
    assert name_of_place(task.get_coro()) is None
    task.cancel()
    await asyncio.wait([task])
    return name


@on_asyncio
async def test_the_time_split_names_the_pool_and_each_by_its_own_name() -> None:
    class Pool:
        def __init__(self, label: str) -> None:
            self.label = label

        async def acquire(self) -> None:
            await asyncio.Event().wait()

    kind = pool_waits.PoolKind(lambda _: True, lambda pool: Reading(pool.label, 2, 0, 2))
    acquire = pool_waits.around_acquire(kind)(Pool.acquire)
    pools = Pool("orders-db:5432/orders"), Pool("ledger-db:5432/ledger")

    def take_of(pool: Pool) -> TakeAsync:
        @asynccontextmanager
        async def take() -> AsyncGenerator[None, None]:
            await acquire(pool)
            yield

        return take

    names = [await _name_of_waiter(take_of(pool)) for pool in (*pools, pools[0])]
    assert names == [f"pool {pool.label}" for pool in (*pools, pools[0])]
