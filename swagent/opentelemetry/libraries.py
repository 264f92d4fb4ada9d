"""Facts that follow from an instrumentation's name: the component of its spans, and whether they are left out.

The name is that of the tracer that an instrumentation asks for: `opentelemetry.instrumentation.redis`.
"""

from __future__ import annotations

from ..record.trace.model import Component, SpanKind

_PACKAGE = "opentelemetry.instrumentation."
_COMPONENTS = {
    "redis": Component.REDIS, "pymongo": Component.MONGODB, "motor": Component.MONGODB,
    "elasticsearch": Component.ELASTICSEARCH, "asyncpg": Component.ASYNCPG, "psycopg": Component.PSYCOPG,
    "psycopg2": Component.PSYCOPG, "aiopg": Component.PSYCOPG, "pymysql": Component.PYMYSQL,
    "mysqlclient": Component.MYSQLCLIENT, "httpx": Component.HTTPX, "requests": Component.REQUESTS,
    "urllib3": Component.URLLIB3, "aiohttp_client": Component.AIOHTTP, "aiohttp_server": Component.AIOHTTP,
    "grpc": Component.GRPC, "celery": Component.CELERY, "flask": Component.FLASK, "django": Component.DJANGO,
    "tornado": Component.TORNADO, "falcon": Component.FALCON, "pyramid": Component.PYRAMID,
    "fastapi": Component.FASTAPI,
}  # fmt: skip
_SYSTEMS = {
    "redis": Component.REDIS, "valkey": Component.REDIS, "mongodb": Component.MONGODB,
    "postgresql": Component.POSTGRESQL, "elasticsearch": Component.ELASTICSEARCH, "neo4j": Component.NEO4J,
    "hbase": Component.HBASE, "grpc": Component.GRPC,
}  # fmt: skip
_QUEUES = {
    "kafka": (Component.KAFKA_PRODUCER, Component.KAFKA_CONSUMER),
    "rabbitmq": (Component.RABBITMQ_PRODUCER, Component.RABBITMQ_CONSUMER),
    "pulsar": (Component.PULSAR_PRODUCER, Component.PULSAR_CONSUMER),
}
CACHES = frozenset({"redis", "valkey", "memcached", "memcache", "dragonfly"})
"""Systems that are caches, and databases for OpenTelemetry."""
_WEB = frozenset({"asgi", "starlette", "fastapi", "wsgi", "django", "flask", "falcon", "pyramid", "tornado",
                  "aiohttp_server", "quart", "sanic", "litestar"})  # fmt: skip
# ASGI's messages, each with a span of its own: they say nothing that the request's span does not.
_MESSAGES = (" http send", " http receive", " websocket send", " websocket receive")


class Library:
    """An instrumentation, by the name of its tracer.

    :ivar is_web: whether it traces requests that come in
    :ivar is_left_out: whether its spans are not recorded: FastAPI emits its own as soon as a provider is set, although
      the agent's middleware has recorded the request already
    """

    def __init__(self, scope: str) -> None:
        self.scope = scope
        short = scope.removeprefix(_PACKAGE)
        self.name = short.partition(".")[0].lower()
        self.is_web = self.name in _WEB
        self.is_left_out = scope == "fastapi" or scope.startswith("fastapi.")

    def is_noise(self, name: str) -> bool:
        """Whether a span of this name says nothing that the one around it does not say."""
        return self.is_web and name.endswith(_MESSAGES)

    def component(self, kind: SpanKind, system: str) -> int:
        """By the library, or else by what it talks to.

        :param system: of the database, queue or remote call
        """
        known = _COMPONENTS.get(self.name) or _SYSTEMS.get(system)
        if known is not None:
            return known
        queue = _QUEUES.get(system)
        if queue is not None and kind is not SpanKind.LOCAL:
            return queue[kind is SpanKind.ENTRY]
        return Component.UNKNOWN
