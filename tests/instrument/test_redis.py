"""Redis and Valkey: one span for what its user calls one call, against a real server, and a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import redis
import redis.asyncio
import redis.asyncio.retry
import redis.backoff
import redis.exceptions
import redis.retry
import valkey
import valkey.asyncio

from kit.real.redis import Redis, RedisCluster
from kit.servers import dead_address
from record.recorded import Recorder
from swagent import local_span
from swagent.instrument import settings
from swagent.instrument.libraries.cache.redis_commands import KEY_ELSEWHERE, READS, WAITING, WITH_SUBCOMMANDS, WRITES
from swagent.record.trace.model import SpanRecord

from .loops import on_asyncio
from .trees import trees

pytestmark = pytest.mark.timeout(600)
INSTRUMENTED = ("redis", "valkey")
AGAINST = "a real Redis"
NEEDS = ("betterproto==2.0.0b7", "grpclib==0.4.9", "protobuf>=5.26", "starlette>=0.40", "uvicorn>=0.32")
real = pytest.mark.e2e


def collected_by(span: SpanRecord) -> str:
    return span.name.partition("/")[0].lower()


@pytest.fixture
def client(redis_server: Redis) -> Iterator[Any]:
    with redis.Redis(port=redis_server.port, decode_responses=True) as client:
        yield client


def drawn(recorder: Recorder, server: Redis) -> str:
    return trees(recorder).replace(server.address, "cache:6379").replace(f"localhost:{server.port}", "cache:6379")


@real
def test_a_command_is_one_span(recorder: Recorder, client: Any, redis_server: Redis) -> None:
    with local_span("job"):
        client.set("user:17", "secret")
        assert client.get("user:17") == "secret"
        client.config_get("maxmemory")
        client.execute_command("get user:17")
    assert drawn(recorder, redis_server) == (
        "Local job\n"
        "  Exit Redis/SET REDIS/CACHE cache:6379 cache.type=Redis cache.cmd=SET cache.op=write\n"
        "  Exit Redis/GET REDIS/CACHE cache:6379 cache.type=Redis cache.cmd=GET cache.op=read\n"
        "  Exit Redis/CONFIG GET REDIS/CACHE cache:6379 cache.type=Redis cache.cmd=CONFIG GET\n"
        "  Exit Redis/GET REDIS/CACHE cache:6379 cache.type=Redis cache.cmd=GET cache.op=read"
    )


@real
@on_asyncio
async def test_valkey_has_its_own_name(recorder: Recorder, redis_server: Redis) -> None:
    with valkey.Valkey(port=redis_server.port) as client, local_span("job"):
        client.get("user:17")
    async with valkey.asyncio.Valkey(port=redis_server.port) as async_client:
        with local_span("job"):
            async with async_client.pipeline() as pipeline:
                pipeline.get("user:17")
                await pipeline.execute()
    assert drawn(recorder, redis_server) == (
        "Local job\n"
        "  Exit Valkey/GET REDIS/CACHE cache:6379 cache.type=Valkey cache.cmd=GET cache.op=read\n"
        "Local job\n"
        "  Exit Valkey/PIPELINE REDIS/CACHE cache:6379 cache.type=Valkey cache.cmd=GET cache.op=read"
    )


@real
@pytest.mark.parametrize("is_transaction", [True, False])
def test_a_pipeline_is_one_span(is_transaction: bool, recorder: Recorder, client: Any, redis_server: Redis) -> None:
    with local_span("job"), client.pipeline(transaction=is_transaction) as pipeline:
        pipeline.get("user:17").set("user:18", "secret").get("user:18")
        assert pipeline.execute()[1:] == [True, "secret"]
        assert pipeline.execute() == []
    assert drawn(recorder, redis_server) == (
        "Local job\n  Exit Redis/PIPELINE REDIS/CACHE cache:6379 cache.type=Redis cache.cmd=GET SET cache.op=write"
    )


@real
@on_asyncio
async def test_commands_that_a_pipeline_sends_at_once_have_spans_and_a_lost_race_failed(
    recorder: Recorder, redis_server: Redis
) -> None:
    async with redis.asyncio.Redis(port=redis_server.port) as client, client.pipeline() as pipeline:
        with local_span("job"):
            await pipeline.watch("raced")
            await client.incr("raced")
            pipeline.multi()  # type: ignore[no-untyped-call, unused-ignore]
            pipeline.set("raced", 2)
            with pytest.raises(redis.exceptions.WatchError):
                await pipeline.execute()
    assert recorder.only.names == ["job", "Redis/WATCH", "Redis/INCRBY", "Redis/PIPELINE"]
    assert [span.name for span in recorder.only.spans if span.failed] == ["Redis/PIPELINE"]


@real
def test_a_key_is_shown_where_it_is_asked_for(recorder: Recorder, client: Any) -> None:
    settings.use(settings.Settings(cache_keys=True))
    client.get("user:17")
    client.get(b"user:\xff")
    client.scan(match="user:*")
    with suppress(redis.exceptions.ResponseError):
        client.xread({"stream": "0"}, count=1)
    keys = [dict(segment.spans[0].tags).get("cache.key") for segment in recorder.segments]
    assert keys == ["user:17", "user:\ufffd", None, None]


@real
def test_a_command_that_waits_for_another_client_has_no_span(recorder: Recorder, client: Any) -> None:
    assert client.blpop("queue", timeout=0.01 if redis.__version__ > "6" else 1) is None
    assert not client.xread({"stream": "$"}, block=1)
    with client.pubsub() as subscription:
        subscription.subscribe("news")
        assert subscription.get_message(timeout=10)["type"] == "subscribe"
        client.publish("news", "text")
        assert subscription.get_message(timeout=10)["data"] == "text"
    client.xread({"stream": "0"})
    assert recorder.names == [["Redis/PUBLISH"], ["Redis/XREAD"]]


@real
def test_a_script_that_the_client_has_to_send_first_is_no_failure(recorder: Recorder, client: Any) -> None:
    client.ping()
    client.script_flush()
    assert client.register_script("return 7")() == 7
    spans = [segment.spans[0] for segment in recorder.segments]
    assert [span.name for span in spans][-3:] == ["Redis/EVALSHA", "Redis/SCRIPT LOAD", "Redis/EVALSHA"]
    assert not any(span.failed or span.logs for span in spans)


@on_asyncio
async def test_a_refused_connection_is_one_span_whatever_is_tried_again(recorder: Recorder) -> None:
    retry = redis.retry.Retry(redis.backoff.NoBackoff(), 3)
    async_retry = redis.asyncio.retry.Retry(redis.backoff.NoBackoff(), 3)
    with dead_address() as address:
        port = int(address.rpartition(":")[2])
        with pytest.raises(redis.exceptions.ConnectionError):
            redis.Redis("127.0.0.1", port, retry=retry).get("user:17")
        with pytest.raises(redis.exceptions.ConnectionError):
            await redis.asyncio.Redis(host="127.0.0.1", port=port, retry=async_retry).get("user:17")
    assert trees(recorder).splitlines() == 2 * [
        f"Exit Redis/GET REDIS/CACHE {address} cache.type=Redis cache.cmd=GET cache.op=read FAILED"
    ]


@pytest.mark.parametrize(
    ("url", "peer"),
    [
        ("redis://user:secret@cache.test/3", "cache.test:6379"),
        ("unix:///run/redis.sock", "unix:/run/redis.sock"),
        ("redis://[::1]:6380", "[::1]:6380"),
    ],
)
def test_a_peer_is_an_address_without_credentials(
    url: str, peer: str, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = redis.Redis.from_url(url)
    monkeypatch.setattr(client.connection_pool, "get_connection", _refuse)
    with pytest.raises(redis.exceptions.ConnectionError):
        client.get("user:17")
    assert recorder.span("Redis/GET").peer == peer


def _refuse(*_: Any, **__: Any) -> Any:
    raise redis.exceptions.ConnectionError("refused")


@real
@on_asyncio
async def test_a_cluster_is_named_by_the_node_that_is_asked(recorder: Recorder, redis_cluster: RedisCluster) -> None:
    async with redis.asyncio.RedisCluster("127.0.0.1", redis_cluster.port) as async_client:
        with local_span("async"):
            await async_client.set("user:17", "a")
            pipeline = async_client.pipeline()
            pipeline.get("user:17")
            await pipeline.execute()
    with redis.RedisCluster("127.0.0.1", redis_cluster.port) as client, local_span("sync"):
        client.get("user:17")
        client.pipeline().set("user:17", "b").get("user:17").execute()
    # the questions by which a client knows its cluster are calls, too, in segments of their own
    recorder.segments = [each for each in recorder.segments if each.names[0] in ("async", "sync")]
    line = "  Exit Redis/{} REDIS/CACHE cache:6379 cache.type=Redis cache.cmd={} cache.op={}".format
    assert drawn(recorder, redis_cluster).splitlines() == [
        "Local async",
        line("SET", "SET", "write"),
        line("PIPELINE", "GET", "read"),
        "Local sync",
        line("GET", "GET", "read"),
        line("PIPELINE", "SET GET", "write"),
    ]


@real
def test_the_known_facts_of_commands_are_those_of_the_server(client: Any) -> None:
    said = {name.upper(): info for name, info in client.command().items()}
    for name, info in said.items():
        flags = set(map(str, info["flags"]))
        assert ("readonly" in flags) == (name in READS), name
        assert ("write" in flags) == (name in WRITES), name
        if name in READS | WRITES:
            assert (info["first_key_pos"] != 1) == (name in KEY_ELSEWHERE), name
    waiting = {name for name, info in said.items() if "blocking" in set(map(str, info["flags"]))}
    assert waiting - {"XREAD", "XREADGROUP"} == WAITING
    assert {name for name, info in said.items() if info["first_key_pos"] == 0} >= WITH_SUBCOMMANDS - {"OBJECT"}
