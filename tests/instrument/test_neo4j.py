"""Neo4j's driver: one span for a query, in a session and in a transaction, against a server in this process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import neo4j
import neo4j.exceptions
import pytest

from record.recorded import Recorder
from swagent import local_span
from swagent.instrument import settings

from .bolt_peer import BoltPeer, bolt_peer
from .loops import on_asyncio
from .trees import trees

INSTRUMENTED = ("neo4j",)
AGAINST = "a fake: a Bolt server of the tests"
QUERY = "MATCH (n {name: $name}) RETURN n"


@pytest.fixture
def peer() -> Iterator[BoltPeer]:
    with bolt_peer() as peer:
        yield peer


@pytest.fixture
def driver(peer: BoltPeer) -> Iterator[Any]:
    with neo4j.GraphDatabase.driver(f"bolt://{peer.address}", auth=("ann", "secret")) as driver:
        yield driver


def drawn(recorder: Recorder, peer: BoltPeer) -> list[str]:
    return trees(recorder).replace(peer.address, "graph:7687").splitlines()


def _line(place: str, instance: str = "") -> str:
    tags = " ".join(filter(None, ["db.type=Neo4j", instance and f"db.instance={instance}", "db.operation=MATCH"]))
    return f"  Exit Neo4j/{place}/run NEO4J/DATABASE graph:7687 {tags}"


def test_a_query_is_one_span(recorder: Recorder, driver: Any, peer: BoltPeer) -> None:
    with local_span("job"), driver.session(database="shop") as session:
        assert [record["n"] for record in session.run(QUERY, name="secret")] == [1]
        assert session.execute_read(lambda transaction: transaction.run(neo4j.Query(QUERY).text, name="a").single())[0]
        with session.begin_transaction() as transaction:
            transaction.run(QUERY, {"name": "secret"}).consume()
    lines = [_line(place, "shop") for place in ("Session", "Transaction", "Transaction")]
    assert drawn(recorder, peer) == ["Local job", *lines]
    assert peer.queries == 3 * [QUERY]


@on_asyncio
async def test_a_query_of_the_async_driver_too(recorder: Recorder, peer: BoltPeer) -> None:
    async with neo4j.AsyncGraphDatabase.driver(f"bolt://{peer.address}") as driver, driver.session() as session:
        with local_span("job"):
            result = await session.run(neo4j.Query(QUERY), name="secret")  # type: ignore[arg-type, unused-ignore]
            await result.consume()
            transaction = await session.begin_transaction()
            await transaction.run(QUERY, name="secret")
            await transaction.commit()
    # a client that names no database may get its name from the server
    lines = [line.replace(" db.instance=neo4j", "") for line in drawn(recorder, peer)]
    assert lines == ["Local job", _line("Session"), _line("Transaction")]


def test_statements_and_parameters_are_shown_where_they_are_asked_for(recorder: Recorder, driver: Any) -> None:
    settings.use(settings.Settings(sql_statements=True, sql_parameters_max_length=20))
    with driver.session() as session:
        session.run(QUERY, name="ann").consume()
        session.run(QUERY, {"name": "ann"}).consume()
    shown = [dict(segment.spans[0].tags) for segment in recorder.segments]
    assert [tags["db.statement"] for tags in shown] == [QUERY, QUERY]
    assert [tags["db.sql.parameters"] for tags in shown] == ["{'name': 'ann'}"] * 2


def test_a_failure_shows(recorder: Recorder, driver: Any) -> None:
    with driver.session() as session, pytest.raises(neo4j.exceptions.CypherSyntaxError):
        session.run("MATCH WRONG")
    span = recorder.span("Neo4j/Session/run")
    assert span.failed
    assert dict(span.logs[0][1])["error.kind"] == "neo4j.exceptions.CypherSyntaxError"
