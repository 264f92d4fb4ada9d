"""graphql-core: an operation within a request, by its own functions and by strawberry's schema."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from record.recorded import Recorder
from swagent import entry_span, local_span
from swagent.record.trace.model import SpanRecord

from .loops import on_asyncio
from .trees import trees

graphql: Any = pytest.importorskip("graphql")
strawberry: Any = pytest.importorskip("strawberry")
# it gathers fields by asyncio, and so it has no answer on trio
INSTRUMENTED = ("graphql",)
AGAINST = "its own schema"
NEEDS = ("strawberry-graphql==0.262.0",)
ORDERS = "query Orders { price }"


def find_price() -> int:
    with local_span("look up"):
        return 3


async def count_stock(of: str) -> int:
    await asyncio.sleep(0)
    with local_span("count"):
        return len(of)


def fail() -> int | None:
    raise LookupError("no such order")


async def fail_late() -> int | None:
    await asyncio.sleep(0)
    raise LookupError("no such order")


def buy_item(item: int) -> int:
    return item


async def tick() -> AsyncGenerator[int, None]:
    yield 1


@strawberry.type
class Query:
    price: int = strawberry.field(resolver=find_price)
    stock: int = strawberry.field(resolver=count_stock)
    broken: int | None = strawberry.field(resolver=fail)
    late: int | None = strawberry.field(resolver=fail_late)


@strawberry.type
class Mutation:
    buy: int = strawberry.mutation(resolver=buy_item)


@strawberry.type
class Subscription:
    ticks: int = strawberry.subscription(resolver=tick)


schema = strawberry.Schema(Query, Mutation, Subscription)
core: Any = schema._schema


def request() -> Any:
    return entry_span("POST:/graphql")


def operation_of(recorder: Recorder) -> SpanRecord:
    [span] = [each for segment in recorder.segments for each in segment.spans if each.name.startswith("GraphQL/")]
    return span


def test_a_request_says_which_operation_it_was(recorder: Recorder) -> None:
    with request():
        assert schema.execute_sync(ORDERS).data == {"price": 3}
    tags = "graphql.operation.type=query graphql.operation.name=Orders"
    assert trees(recorder) == (
        f"Entry POST:/graphql {tags}\n  Local GraphQL/query/Orders PYTHON/UNKNOWN {tags}\n    Local look up"
    )


@on_asyncio
async def test_what_is_awaited_is_within_the_operation(recorder: Recorder) -> None:
    with request():
        result = await schema.execute('query Orders { price stock(of: "lamp") }')
        with local_span("behind"):
            pass
    assert result.data == {"price": 3, "stock": 4}
    tags = "graphql.operation.type=query graphql.operation.name=Orders"
    assert trees(recorder) == (
        f"Entry POST:/graphql {tags}\n  Local GraphQL/query/Orders PYTHON/UNKNOWN {tags}\n"
        "    Local look up\n    Local count\n  Local behind"
    )


@on_asyncio
@pytest.mark.parametrize("field", ["broken", "late"])
async def test_an_answer_with_errors_has_failed(recorder: Recorder, field: str) -> None:
    with request():
        result = await schema.execute(f"{{ {field} price }}")
    assert result.data == {field: None, "price": 3}
    span = operation_of(recorder)
    assert span.failed
    [(_, fields)] = span.logs
    logged = dict(fields)
    assert (logged["event"], logged["error.kind"], logged["message"]) == ("error", "LookupError", "no such order")
    assert not [each for each in recorder.only.spans if each.failed and each is not span]


def test_what_a_client_sent_is_not_recorded(recorder: Recorder) -> None:
    with request():
        result = schema.execute_sync(
            "mutation Buy($item: Int!) { buy(item: $item) }", variable_values={"item": "SECRET"}
        )
    assert "SECRET" in str(result.errors)
    span = operation_of(recorder)
    assert (span.name, span.failed) == ("GraphQL/mutation/Buy", True)
    assert [dict(fields) for _, fields in span.logs] == [{"event": "error", "error.kind": "GraphQLError"}]
    assert "SECRET" not in repr([(each.tags, each.logs) for each in recorder.only.spans])


@pytest.mark.parametrize("ask", [schema.execute_sync, lambda document: graphql.graphql_sync(core, document)])
@pytest.mark.parametrize(
    ("document", "stage", "kind", "tags"),
    [
        ("query Orders { SECRET(", "parse", "GraphQLSyntaxError", ""),
        (
            "query Orders { SECRET price(SECRET: 1) }", "validate", "GraphQLError",
            " graphql.operation.type=query graphql.operation.name=Orders",
        ),
    ],
    ids=["cannot be parsed", "is not valid"],
)  # fmt: skip
def test_a_wrong_document_has_one_failed_span(
    recorder: Recorder, ask: Callable[[str], Any], document: str, stage: str, kind: str, tags: str
) -> None:
    with request():
        assert ask(document).errors
    [(_, fields)] = operation_of(recorder).logs
    assert dict(fields) == {"event": "error", "error.kind": kind}
    assert trees(recorder) == f"Entry POST:/graphql{tags}\n  Local GraphQL/{stage} PYTHON/UNKNOWN{tags} FAILED"
    assert "SECRET" not in repr([(each.tags, each.logs) for each in recorder.only.spans])


def test_an_operation_without_a_name_and_one_of_several(recorder: Recorder) -> None:
    with request():
        schema.execute_sync("{ price }")
        schema.execute_sync("query A { price } query B { price }", operation_name="B")
        schema.execute_sync("query First { price }")
    names = [name for name in recorder.only.names if name.startswith("GraphQL/")]
    assert names == ["GraphQL/query", "GraphQL/query/B", "GraphQL/query/First"]


# without the agent Python warns, too
@pytest.mark.filterwarnings("ignore:.*never awaited", "ignore::pytest.PytestUnraisableExceptionWarning")
@on_asyncio
async def test_an_execution_that_is_never_awaited_leaves_nothing_open(recorder: Recorder) -> None:
    simple, never = graphql.build_schema("type Query { a: Int }"), asyncio.get_running_loop().create_future()
    with request():
        graphql.execute(simple, graphql.parse("{ a }"), {"a": never}).close()
        gc.collect()
    assert recorder.only.names == ["POST:/graphql", "GraphQL/query"]
    assert "incomplete" not in repr([each.tags for each in recorder.only.spans])


def test_outside_of_a_request_nothing_is_recorded(recorder: Recorder) -> None:
    assert schema.execute_sync("{ __typename }").data == {"__typename": "Query"}
    assert schema.execute_sync("{").errors
    assert schema.execute_sync("{ unknown }").errors
    assert not recorder.segments


@pytest.mark.gate
@on_asyncio
async def test_a_subscription_has_no_span(recorder: Recorder) -> None:
    with request():
        events: Any = graphql.subscribe(core, graphql.parse("subscription { ticks }"))
        events = await events if asyncio.iscoroutine(events) else events
        assert [each.data async for each in events] == [{"ticks": 1}]
    assert recorder.only.names == ["POST:/graphql"]
