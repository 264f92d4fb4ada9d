"""pymongo, its asyncio client and Motor: one span for each command, against a server in this process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anyio
import pymongo
import pymongo.errors
import pytest

from record.recorded import Recorder
from swagent import Config, exit_span, local_span
from swagent.instrument import instrument, settings, uninstrument

from .loops import on_asyncio
from .mongo_peer import MongoPeer, mongo_peer
from .trees import trees
from .watcher import Watcher

INSTRUMENTED = ("pymongo",)
AGAINST = "a fake: a MongoDB server of the tests"
NEEDS = ("motor==3.0",)


@pytest.fixture
def peer() -> Iterator[MongoPeer]:
    with mongo_peer() as peer:
        yield peer


@pytest.fixture
def client(peer: MongoPeer) -> Iterator[Any]:
    client: Any = pymongo.MongoClient(f"mongodb://127.0.0.1:{peer.port}", retryWrites=False, retryReads=False)
    yield client
    client.close()


def drawn(recorder: Recorder, peer: MongoPeer) -> str:
    return trees(recorder).replace(str(peer.port), "27017")


def test_a_command_is_one_span(recorder: Recorder, client: Any, peer: MongoPeer) -> None:
    with local_span("job"):
        client.shop.orders.insert_one({"customer": "secret"})
        assert [each["_id"] for each in client.shop.orders.find({"customer": "secret"}, batch_size=1)] == [1, 2]
        client.admin.command("ping")
    tags = "db.type=MongoDB db.instance=shop db.collection=orders"
    assert drawn(recorder, peer) == (
        "Local job\n"
        f"  Exit MongoDB/InsertOperation MONGODB/DATABASE 127.0.0.1:27017 {tags}\n"
        f"  Exit MongoDB/FindOperation MONGODB/DATABASE 127.0.0.1:27017 {tags}\n"
        f"  Exit MongoDB/GetmoreOperation MONGODB/DATABASE 127.0.0.1:27017 {tags}\n"
        "  Exit MongoDB/PingOperation MONGODB/DATABASE 127.0.0.1:27017 db.type=MongoDB db.instance=admin"
    )


def test_a_client_that_is_there_shows_its_commands(recorder: Recorder, client: Any, watcher: Watcher) -> None:
    watcher.watch("pymongo")
    with local_span("job"):
        client.shop.orders.insert_one({"customer": "17"})
        with pytest.raises(pymongo.errors.OperationFailure):
            client.shop.command("unheard")
    inserted, unheard = "MongoDB/InsertOperation", "MongoDB/UnheardOperation"
    assert [(name, event.command_name) for name, event in watcher.requests] == [
        (inserted, "insert"),
        (unheard, "unheard"),
    ]
    assert [(name, event.reply["n"]) for name, event in watcher.responses] == [(inserted, 1)]
    assert not watcher.has_seen_ended
    assert recorder.names == [["job", inserted, unheard]]
    assert not recorder.span(inserted).failed


@on_asyncio
async def test_a_command_of_the_async_client_too(recorder: Recorder, peer: MongoPeer) -> None:
    make: Any = getattr(pymongo, "AsyncMongoClient", None)
    if make is None:
        pytest.skip("pymongo has it since 4.9")
    async with make(f"mongodb://127.0.0.1:{peer.port}") as client:
        with local_span("job"):
            await client.shop.orders.update_one({"_id": 1}, {"$set": {"customer": "secret"}})
        assert drawn(recorder, peer) == (
            "Local job\n"
            "  Exit MongoDB/UpdateOperation MONGODB/DATABASE 127.0.0.1:27017 "
            "db.type=MongoDB db.instance=shop db.collection=orders"
        )
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(_cancel_when_asked, peer, scope)
                with local_span("cancelled job"):
                    await client.shop.orders.find_one({"silent": 1})
        span = recorder.span("MongoDB/FindOperation")
        assert dict(span.tags)["outcome"] == "cancelled"
        assert not span.failed
        with local_span("next job"):
            await client.shop.orders.find_one({"_id": 1})
    assert recorder.names[-1] == ["next job", "MongoDB/FindOperation"]


async def _cancel_when_asked(peer: MongoPeer, scope: anyio.CancelScope) -> None:
    await anyio.to_thread.run_sync(peer.asked.wait, 30)
    scope.cancel()


@on_asyncio
async def test_a_command_of_motor_belongs_to_its_caller(recorder: Recorder, peer: MongoPeer) -> None:
    motor: Any = pytest.importorskip("motor.motor_asyncio")
    client = motor.AsyncIOMotorClient(f"mongodb://127.0.0.1:{peer.port}")

    async def job(number: int) -> None:
        with local_span(f"job {number}"):
            await client.shop.orders.insert_one({"_id": number})

    async with anyio.create_task_group() as group:
        for number in range(10):
            group.start_soon(job, number)
    client.close()
    assert sorted(recorder.names) == [[f"job {number}", "MongoDB/InsertOperation"] for number in range(10)]


def test_the_parameters_of_a_command_are_shown_where_that_is_wanted(recorder: Recorder, client: Any) -> None:
    settings.use(settings.Settings(mongo_parameters=True, mongo_parameters_max_length=60))
    client.shop.orders.find_one({"customer": "ann"})
    client.shop.orders.insert_many([{"text": "a" * 1000}] * 1000)
    assert dict(recorder.span("MongoDB/FindOperation").tags)["db.statement"].startswith(
        "find: orders, filter: {'customer': 'ann'}"
    )
    assert len(dict(recorder.span("MongoDB/InsertOperation").tags)["db.statement"]) == 60


def test_a_failure_and_a_server_that_goes_away_show(recorder: Recorder, client: Any) -> None:
    with pytest.raises(pymongo.errors.OperationFailure):
        client.shop.command("nonsense")
    span = recorder.span("MongoDB/NonsenseOperation")
    assert span.failed
    assert dict(span.logs[0][1])["error.kind"] == "pymongo.errors.OperationFailure"
    with pytest.raises(pymongo.errors.DuplicateKeyError):
        client.shop.taken.insert_one({"_id": 1})
    with pytest.raises(pymongo.errors.AutoReconnect):
        client.shop.orders.find_one({"gone": 1})
    assert [recorder.span(f"MongoDB/{name}Operation").failed for name in ("Insert", "Find")] == [True, True]


def test_a_call_inside_a_call_and_what_is_switched_off_have_no_span(recorder: Recorder, client: Any) -> None:
    with exit_span("by hand", "127.0.0.1:27017"):
        client.shop.orders.find_one({})
    uninstrument("pymongo")
    client.shop.orders.find_one({})
    assert recorder.names == [["by hand"]]
    instrument("pymongo", config=Config(trace_calls_outside_requests=True))
    client.shop.orders.find_one({})
    assert recorder.names == [["by hand"], ["MongoDB/FindOperation"]], "once for a client that has been there before"
