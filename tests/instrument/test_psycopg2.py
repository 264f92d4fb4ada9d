"""psycopg2, with a real PostgreSQL: whatever class of connections and cursors the application chooses."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import psycopg2
import psycopg2.extras
import psycopg2.pool
import pytest
from psycopg2 import extensions, sql

from kit.real.databases import Postgres
from record.recorded import recording
from swagent import local_span

from .trees import trees

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]
INSTRUMENTED = ("psycopg2",)
AGAINST = "a real PostgreSQL"
NAME = "PostgreSQL/Psycopg/"


@pytest.fixture
def place(postgres: Postgres) -> dict[str, Any]:
    return {"host": "127.0.0.1", "port": postgres.port, "user": "shop", "dbname": "shop"}


@pytest.fixture
def connection(place: dict[str, Any]) -> Iterator[Any]:
    connection = psycopg2.connect(**place)
    with connection, connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE orders (id int PRIMARY KEY, item text)")
    yield connection
    connection.close()


def test_every_call_is_one_span(connection: Any, postgres: Postgres) -> None:
    with recording() as recorder:
        with local_span("job"), connection, connection.cursor() as cursor:
            cursor.execute("INSERT INTO orders VALUES (%s, %s)", (1, "a"))
            cursor.executemany("INSERT INTO orders VALUES (%s, %s)", [(2, "b"), (3, "c")])
            cursor.copy_from(io.StringIO("4\td\n"), "orders")
            cursor.execute(sql.SQL("SELECT {} FROM orders").format(sql.Identifier("id")))
            assert [row[0] for row in cursor] == [1, 2, 3, 4]
            cursor.callproc("version")
            psycopg2.extras.execute_values(cursor, "INSERT INTO orders VALUES %s", [(5, "e"), (6, "f")])
        at = f"PSYCOPG/DATABASE 127.0.0.1:{postgres.port} db.type=PostgreSQL db.instance=shop"
        calls = [
            ("execute", "INSERT"), ("executemany", "INSERT"), ("copy", "COPY"), ("execute", "SELECT"),
            ("callproc", "CALL"), ("execute", "INSERT"),
        ]  # fmt: skip
        assert trees(recorder, summaries=False).splitlines() == [
            "Local job",
            *(f"  Exit {NAME}{method} {at} db.operation={operation}" for method, operation in calls),
        ]


class Quiet(extensions.connection):  # type: ignore[misc]
    """A connection of the application's own."""


def test_classes_of_the_application_stay_what_they_are(place: dict[str, Any]) -> None:
    with recording() as recorder:
        one = psycopg2.connect(**place, connection_factory=Quiet, cursor_factory=psycopg2.extras.RealDictCursor)
        two = psycopg2.connect(**place, connection_factory=psycopg2.extras.DictConnection)
        assert isinstance(one, Quiet)
        assert isinstance(two, psycopg2.extras.DictConnection)
        for cursor in (
            one.cursor(),
            two.cursor(),
            one.cursor("on_server", psycopg2.extras.DictCursor),
            one.cursor("on_server_too", cursor_factory=psycopg2.extras.DictCursor),
        ):
            cursor.execute("SELECT 7 AS id")
            assert cursor.fetchone()["id"] == 7
            assert isinstance(cursor, (psycopg2.extras.RealDictCursor, psycopg2.extras.DictCursor))
        one.close()
        two.close()
    assert recorder.names == [[NAME + "execute"]] * 4


def test_an_error_shows_without_values(connection: Any) -> None:
    with recording() as recorder, connection.cursor() as cursor, pytest.raises(psycopg2.IntegrityError):
        cursor.execute("INSERT INTO orders VALUES (1, 'a'), (1, 'b')")
    [span] = recorder.only.spans
    log = dict(span.logs[0][1])
    assert span.failed
    assert log["error.kind"] == "psycopg2.errors.UniqueViolation"
    assert (log["error.code"], log["message"]) == ("23505", "duplicate key value violates unique constraint …")
