"""Drivers of SQL databases: PostgreSQL and MariaDB are real, each side has a database of its own."""

from __future__ import annotations

from collections.abc import Sequence

from differential.program import Call, Line, World, call, choices, lines

_SQL = choices(
    "'SELECT 1' | 'SELECT a, b FROM t ORDER BY a' | 'SELECT nonsense' | 'SELEC' | '' | "
    "'UPDATE t SET b = 2' | b'SELECT 2' | '/* c */ SELECT 1' | 'SELECT 1; SELECT 2' | "
    "'INSERT INTO t VALUES (1, 1)' | 17"
)
_SQL_WITH = ("'SELECT {p}'", "'INSERT INTO t VALUES ({p}, 2)'", *_SQL)
_MAKE = "'CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER)'"
_FETCHES = ("fetchone", "fetchall")


def _texts(place: str) -> Sequence[str]:
    return tuple(text.replace("{p}", place) for text in _SQL_WITH)


def _dbapi(c: str, wait: str, sql: str, values: str, place: str = "%s") -> list[Call | Line]:
    """The common operations of cursors, whatever their parameters are called."""
    follow = ("{}", *(f"{wait}{c}.{each}()" for each in _FETCHES), f"{c}.description", f"{c}.rowcount")
    return [
        call(
            f"{wait}{c}.execute 1/2 x4",
            **{sql: _texts(place), values: "(3,) | [4] | None | ('x',) | {'a': 1}"},
            _follow=follow,
        ),
        call(
            f"{wait}{c}.executemany 2/2 x2",
            **{sql: f"'INSERT INTO t VALUES ({place}, 2)' | 'SELEC'", values: "[(5,), (6,)] | [] | iter([(7,)]) | 17"},
            _follow=follow,
        ),
        Line(f"{wait}{c}.fetchall()"),
        Line(f"{c}.rowcount, {c}.lastrowid"),
        Line(f"type({c})"),
        Line(f"describe({c}.execute)"),
        Line(f"describe({c}.executemany)"),
        Line(f"{c}.connection"),
        call(f"{wait}{c}.fetchmany 0/1", size="2"),
        Line(f"{wait}{c}.close()"),
    ]


def _surface(module: str, most: int) -> list[Line]:
    return [Line(f"surface('{module}', {number})") for number in range(0, most, most // 8)]


_BOTH = ("asyncio", "uvloop")

PSYCOPG = World(
    "psycopg",
    ("psycopg",),
    f"""
    import psycopg
    from psycopg import sql
    db = enter(psycopg.connect(URL, autocommit=True))
    db.execute("DROP TABLE IF EXISTS t")
    db.execute({_MAKE})
    cursor = db.cursor()
    def copied(statement):
        with cursor.copy(statement) as copy:
            return list(copy)
    class Own(psycopg.Cursor):
        def execute(self, query, params=None, **kwargs):
            event("own", query)
            return super().execute(query, params, **kwargs)
    """,
    (
        *_dbapi("cursor", "", "query", "params"),
        call(
            "db.execute 1/2 x3",
            query=(*_texts("%s"), "sql.SQL('SELECT {}').format(1)"),
            params="(3,) | None",
            prepare="True",
            binary="True | False",
            _follow="{}.fetchall() | {}.statusmessage | {}",
        ),
        call(
            "db.cursor 0/1",
            "name = 'named' | ''; binary = True; row_factory = psycopg.rows.dict_row",
            _follow="{}.execute('SELECT 1 AS a').fetchall() | {}.close() | type({})",
        ),
        call("cursor.stream 1/2", query=_texts("%s"), params="(3,)", _follow="list({})"),
        call("copied 1/1", statement="'COPY t TO STDOUT' | 'COPY nonsense TO STDOUT' | 'SELECT 1'"),
        *lines(
            "psycopg.Cursor(db).execute('SELECT 1').fetchone() | Own(db).execute('SELECT 1').fetchone() | "
            "psycopg.ServerCursor(db, 's') | db.info.transaction_status"
        ),
        *_surface("psycopg", 300),
    ),
    peers=("postgres",),
)
PSYCOPG2 = World(
    "psycopg2",
    ("psycopg2",),
    f"""
    import io, psycopg2, psycopg2.extensions, psycopg2.extras, psycopg2.sql
    db = psycopg2.connect(URL)
    at_end(db.close)
    db.autocommit = True
    cursor = db.cursor()
    cursor.execute("DROP TABLE IF EXISTS t")
    cursor.execute({_MAKE})
    class Own(psycopg2.extensions.connection):
        pass
    class OwnCursor(psycopg2.extensions.cursor):
        def execute(self, query, vars=None):
            event("own", query)
            return super().execute(query, vars)
    """,
    (
        *_dbapi("cursor", "", "query", "vars"),
        call(
            "db.cursor 0/3 x2",
            "name = None; cursor_factory = psycopg2.extras.DictCursor | OwnCursor | list | "
            "psycopg2.extensions.cursor | lambda *a, **k: OwnCursor(*a, **k); withhold = False",
            _follow="{}.execute('SELECT 1 AS a') | {}.fetchall() | type({}).__mro__ | {}",
        ),
        call(
            "psycopg2.connect 1/3",
            "dsn = URL | 'nonsense'; connection_factory = Own | psycopg2.extensions.connection; "
            "cursor_factory = OwnCursor",
            _follow="type({}).__mro__ | {}.cursor().execute('SELECT 1') | {}.close()",
        ),
        call("cursor.callproc 1/2", procname="'lower' | 'none'", parameters="('A',)", _follow="cursor.fetchall()"),
        call("cursor.copy_expert 2/3", sql="'COPY t TO STDOUT'", file="io.StringIO()", size="8"),
        call("cursor.copy_from 2/2", file="io.StringIO('8\\t9\\n')", table="'t' | 'none'", sep="'\\t'"),
        *lines(
            "type(db) is psycopg2.extensions.connection | cursor.query, cursor.statusmessage | "
            "setattr(db, 'typo', 1) | setattr(cursor, 'typo', 1) | "
            "psycopg2.extensions.register_type(psycopg2.extensions.UNICODE, db) | "
            "psycopg2.extras.execute_values(cursor, 'INSERT INTO t VALUES %s', [(10, 1)]) | "
            "psycopg2.extensions.quote_ident('a', db) | "
            "psycopg2.sql.SQL('SELECT {}').format(psycopg2.sql.Literal(1)).as_string(db)"
        ),
        *_surface("psycopg2", 60),
    ),
    peers=("postgres",),
)
ASYNCPG = World(
    "asyncpg",
    ("asyncpg",),
    f"""
    import asyncpg
    db = await asyncpg.connect(URL)
    at_end(db.close)
    await db.execute("DROP TABLE IF EXISTS t")
    await db.execute({_MAKE})
    statement = await db.prepare("SELECT $1::int")
    async def copied(data):
        event(data)
    """,
    (
        *(
            call(f"await db.{method} 1/1 x2", query=_texts("$1"), _rest="3 | 'x'", timeout="5 | None")
            for method in ("execute", "fetch", "fetchrow", "fetchval")
        ),
        call(
            "await db.executemany 2/2", command="'INSERT INTO t VALUES ($1, 2)'", args="[(5,)] | [] | 17", timeout="5"
        ),
        call("await db.fetchmany 2/2", query="'SELECT $1::int'", args="[(1,), (2,)]"),
        call("await db.prepare 1/1", query=_texts("$1"), name="None", timeout="5", _follow="await {}.fetch(1) | {}"),
        *(
            call(f"await statement.{method} 0/0", _rest="1 | 'x'", timeout="5", column="0")
            for method in ("fetch", "fetchrow", "fetchval")
        ),
        call("await statement.executemany 1/1", args="[(1,)]", timeout="5"),
        *(
            Line(f"describe(asyncpg.prepared_stmt.PreparedStatement.{method})")
            for method in ("fetch", "fetchrow", "fetchval")
        ),
        *lines(
            "[t := db.transaction(), await t.start(), [r async for r in db.cursor('SELECT generate_series(1, 3)')], await t.rollback()] | "
            "[t := db.transaction(), await t.start(), await (await db.cursor('SELECT 1')).fetch(1), await t.rollback()] | "
            "db.cursor('SELECT 1') | await db.copy_records_to_table('t', records=[(20, 1)]) | "
            "await db.copy_from_query('SELECT 1', output=copied) | type(db) | statement.get_attributes()"
        ),
        *_surface("asyncpg", 400),
    ),
    peers=("postgres",),
    loops=_BOTH,
)


ASYNCMY = World(
    "asyncmy",
    ("asyncmy",),
    f"""
    import asyncmy
    from asyncmy import cursors
    db = await asyncmy.connect(host="127.0.0.1", port=int(PORT), user="root", db=DB, autocommit=True)
    at_end(db.close)
    cursor = db.cursor()
    await cursor.execute("DROP TABLE IF EXISTS t")
    await cursor.execute({_MAKE})
    """,
    (
        *_dbapi("cursor", "await ", "query", "args"),
        call(
            "db.cursor 0/1 x2",
            cursor="cursors.DictCursor | cursors.SSCursor | None | list",
            _follow="{} | type({}).__mro__ | await {}.execute('SELECT 1 AS a') | await {}.fetchall()",
        ),
        *_surface("asyncmy", 40),
        call("await cursor.callproc 1/2", procname="'none'", args="(1,)"),
    ),
    peers=("mariadb",),
    loops=_BOTH,
)

WORLDS = tuple(each for each in vars().values() if isinstance(each, World))
