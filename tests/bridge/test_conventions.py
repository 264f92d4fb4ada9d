"""Old and stable semantic conventions, as native spans say the same."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.trace import SpanKind

from instrument.trees import trees
from record.recorded import Recorder, recording
from swagent.instrument.settings import Settings, use

PREFIX = "opentelemetry.instrumentation."
CLIENT, SERVER, INTERNAL = SpanKind.CLIENT, SpanKind.SERVER, SpanKind.INTERNAL
PRODUCER, CONSUMER = SpanKind.PRODUCER, SpanKind.CONSUMER

TABLE: list[tuple[str, str, SpanKind, dict[str, Any], str]] = [
    ("httpx", "HTTP GET", CLIENT,
     {"http.method": "GET", "http.status_code": 200,
      "http.url": "http://user:secret@stock.test/orders/17?token=secret"},
     "Exit /orders/{id} HTTPX/HTTP stock.test:80 http.method=GET http.status_code=200 "
     "http.url=http://stock.test/orders/{id}"),
    ("httpx", "GET", CLIENT,
     {"http.request.method": "GET", "url.full": "https://stock.test:8443/a", "server.address": "stock.test",
      "server.port": 8443, "http.response.status_code": 200, "network.protocol.version": "1.1"},
     "Exit /a HTTPX/HTTP stock.test:8443 http.method=GET http.status_code=200 http.url=https://stock.test:8443/a"),
    ("requests", "GET", CLIENT, {"http.method": "GET", "http.url": "http://[::1]:80/a"},
     "Exit /a REQUESTS/HTTP [::1]:80 http.method=GET http.url=http://[::1]:80/a"),
    ("aiohttp_client", "GET /users/{name}", CLIENT,
     {"http.request.method": "GET", "url.full": "http://a/users/joe", "url.template": "/users/{name}"},
     "Exit GET /users/{name} AIOHTTP/HTTP a:80 http.method=GET url.template=/users/{name} "
     "http.url=http://a/users/{name}"),
    ("tornado", "GET", SERVER,
     {"http.method": "GET", "http.target": "/orders/17?token=secret", "http.host": "shop:8080", "http.scheme": "http",
      "net.peer.ip": "10.0.0.1", "net.peer.port": 5000, "http.status_code": 200},
     "Entry GET:/orders/{id} TORNADO/HTTP 10.0.0.1:5000 http.method=GET http.status_code=200 "
     "http.url=http://shop:8080/orders/{id}"),
    ("tornado", "GET /orders/{item}", SERVER,
     {"http.request.method": "GET", "url.path": "/orders/lamp", "url.query": "token=secret", "url.scheme": "https",
      "server.address": "shop", "server.port": 443, "http.route": "/orders/{item}", "client.address": "10.0.0.1"},
     "Entry GET:/orders/{item} TORNADO/HTTP 10.0.0.1 http.method=GET http.url=https://shop/orders/{item}"),
    ("sqlalchemy", "SELECT shop", CLIENT,
     {"db.system": "postgresql", "net.peer.name": "db", "db.name": "shop", "db.user": "joe",
      "db.statement": "SELECT * FROM users WHERE name = 'joe'"},
     "Exit SELECT shop POSTGRESQL/DATABASE db:5432 db.type=postgresql db.instance=shop db.operation=SELECT"),
    ("asyncpg", "SELECT * FROM users WHERE name = 'joe'", CLIENT,
     {"db.system.name": "postgresql", "server.address": "db", "server.port": 5433, "db.namespace": "shop",
      "db.query.text": "SELECT * FROM users WHERE name = 'joe'"},
     "Exit SELECT ASYNCPG/DATABASE db:5433 db.type=postgresql db.instance=shop db.operation=SELECT"),
    ("sqlite3", "INSERT", CLIENT, {"db.system": "sqlite", "db.name": ":memory:"},
     "Exit INSERT UNKNOWN/DATABASE sqlite db.type=sqlite db.instance=:memory:"),
    ("psycopg2", "SELECT", CLIENT, {"db.system": "postgresql", "net.peer.name": "/var/run/postgresql"},
     "Exit SELECT PSYCOPG/DATABASE /var/run/postgresql db.type=postgresql"),
    ("redis", "GET", CLIENT,
     {"db.system": "redis", "net.peer.name": "cache", "net.peer.port": 6379, "db.statement": "GET ?",
      "db.redis.database_index": 0, "db.redis.args_length": 2},
     "Exit GET REDIS/CACHE cache:6379 cache.type=redis db.redis.database_index=0 db.redis.args_length=2 "
     "cache.cmd=GET cache.op=read"),
    ("pymemcache", "set", CLIENT, {"db.system": "memcached", "net.peer.name": "cache"},
     "Exit set UNKNOWN/CACHE cache:11211 cache.type=memcached cache.cmd=SET cache.op=write"),
    ("aiokafka", "orders send", PRODUCER,
     {"messaging.system": "kafka", "server.address": '["a:9092", "b"]', "messaging.destination.name": "orders",
      "messaging.kafka.message.key": "secret", "messaging.destination.partition.id": "3"},
     "Exit orders send KAFKA_PRODUCER/MQ a:9092,b:9092 mq.topic=orders messaging.destination.partition.id=3 "
     "mq.broker=a:9092,b:9092"),
    ("kafka", "orders receive", CONSUMER,
     {"messaging.system": "kafka", "messaging.url": '"a:9092"', "messaging.destination": "orders"},
     "Entry orders receive KAFKA_CONSUMER/MQ a:9092 mq.topic=orders mq.broker=a:9092"),
    ("pika", "mail send", PRODUCER,
     {"messaging.system": "rabbitmq", "net.peer.name": "mq", "net.peer.port": 5672, "messaging.destination": "mail",
      "messaging.destination_kind": "queue"},
     "Exit mail send RABBITMQ_PRODUCER/MQ mq:5672 mq.queue=mail mq.broker=mq:5672"),
    ("grpc", "/shop.Orders/Get", CLIENT,
     {"rpc.system": "grpc", "rpc.service": "shop.Orders", "rpc.method": "Get", "net.peer.name": "shop",
      "net.peer.port": "50051", "rpc.grpc.status_code": 0},
     "Exit /shop.Orders/Get GRPC/RPC_FRAMEWORK shop:50051 rpc.service=shop.Orders rpc.method=Get grpc.status_code=0 "
     "grpc.method=/shop.Orders/Get"),
    ("openai.v1", "chat gpt", CLIENT,
     {"gen_ai.system": "openai", "gen_ai.request.model": "gpt", "gen_ai.usage.prompt_tokens": 3,
      "gen_ai.usage.input_tokens": 3, "gen_ai.prompt.0.content": "secret", "gen_ai.completion.0.content": "secret",
      "gen_ai.input.messages": "secret", "llm.headers": "secret"},
     "Exit chat gpt UNKNOWN/GEN_AI gen_ai.provider.name=openai gen_ai.request.model=gpt gen_ai.usage.input_tokens=3 "
     "gen_ai.response.model=gpt"),
    ("any", "chat tiny", CLIENT,
     {"gen_ai.provider.name": "Mistral_AI", "gen_ai.operation.name": "chat", "gen_ai.response.model": "tiny-1",
      "gen_ai.request.model": "tiny", "gen_ai.usage.completion_tokens": 5, "server.address": "llm",
      "server.port": 443, "gen_ai.response.time_to_first_chunk": 0.25},
     "Exit chat tiny UNKNOWN/GEN_AI llm:443 gen_ai.provider.name=mistral_ai gen_ai.operation.name=chat "
     "gen_ai.response.model=tiny-1 gen_ai.request.model=tiny gen_ai.usage.output_tokens=5 "
     "gen_ai.server.time_to_first_token=250"),
    ("any", "chat", CLIENT, {"gen_ai.system": "x", "gen_ai.response.time_to_first_chunk": "nan"},
     "Exit chat UNKNOWN/GEN_AI gen_ai.provider.name=x"),
    ("any", "tools/call look", CLIENT,
     {"mcp.method.name": "tools/call", "gen_ai.tool.name": "look", "rpc.system": "jsonrpc"},
     "Exit tools/call look UNKNOWN/GEN_AI mcp.method.name=tools/call gen_ai.tool.name=look"),
    ("any", "work", INTERNAL,
     {"server.address": "a", "http.request.header.cookie": ["secret"], "user.email": "secret", "api.token": "secret",
      "items": 3},
     "Local work items=3"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("scope", "name", "kind", "attributes", "expected"), TABLE, ids=[f"{row[0]}-{row[1][:20]}" for row in TABLE]
)
def test_a_span_says_what_a_native_one_would(
    scope: str, name: str, kind: SpanKind, attributes: dict[str, Any], expected: str, recorder: Recorder
) -> None:
    with trace.get_tracer(PREFIX + scope).start_as_current_span(name, kind=kind) as span:
        for key, value in attributes.items():
            span.set_attribute(key, value)
    assert trees(recorder) == expected


def test_a_statement_is_shown_to_who_asks_for_it(recorder: Recorder) -> None:
    use(Settings(sql_statements=True))
    tracer = trace.get_tracer(PREFIX + "sqlite3")
    tracer.start_span("SELECT", kind=CLIENT, attributes={"db.system": "sqlite", "db.statement": "SELECT 1"}).end()
    assert dict(recorder.only.spans[0].tags)["db.statement"] == "SELECT 1"


def test_the_path_is_shown_to_who_asks_for_it() -> None:
    attributes = {"http.request.method": "GET", "url.path": "/orders/17", "http.route": "/orders/{item}"}
    with recording(real_path=True) as recorder:
        trace.get_tracer("server").start_span("GET", kind=SERVER, attributes=attributes).end()
    assert trees(recorder) == "Entry GET:/orders/{item} UNKNOWN/HTTP http.method=GET http.url=/orders/17"


@pytest.mark.parametrize(
    "attributes",
    [
        {"http.method": "GET", "http.url": "http://[broken"},
        {"http.method": b"\xff", "http.url": 17},
        {"db.system": object(), "server.address": "[1", "server.port": "x"},
        {"messaging.system": "kafka", "server.address": "[[[["},
        {"db.system": "redis", "db.statement": b"\xff"},
        {"http.method": "GET", "http.url": ""},
    ],
)
def test_odd_attributes_cost_no_span(attributes: dict[str, Any], recorder: Recorder) -> None:
    with trace.get_tracer("any").start_as_current_span("call", kind=CLIENT, attributes=attributes):
        pass
    assert len(recorder.only.spans) == 1
    assert all(isinstance(value, str) for _, value in recorder.only.spans[0].tags)


def test_tags_are_limited(recorder: Recorder) -> None:
    attributes = {f"number.{number}": number for number in range(200)}
    trace.get_tracer("any").start_span("call", attributes=attributes).end()
    assert len(recorder.only.spans[0].tags) == 128
    assert recorder.only.limited
