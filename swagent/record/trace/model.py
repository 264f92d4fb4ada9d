"""The types that segments, spans and the tracer share: the kinds of things, and how they look to each other."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

SpanLog = tuple[float, list[tuple[str, str]]]
"""When it was, in seconds since the epoch, and its fields."""


class SpanKind(enum.IntEnum):
    """SpanType on the wire."""

    ENTRY = 0
    EXIT = 1
    LOCAL = 2


class RefKind(enum.IntEnum):
    """RefType on the wire."""

    CROSS_PROCESS = 0
    CROSS_THREAD = 1


class Layer(enum.IntEnum):
    """SpanLayer on the wire."""

    UNKNOWN = 0
    DATABASE = 1
    RPC_FRAMEWORK = 2
    HTTP = 3
    MQ = 4
    CACHE = 5
    FAAS = 6
    GEN_AI = 7
    """Since SkyWalking 10.4; earlier ones keep such a span, and draw its peer as any other."""


class Component(enum.IntEnum):
    """The libraries that spans name, by their ids in the collector's catalogue (component-libraries.yml): the Python
    libraries that it knows. Its pages show the name, and draw the peer of an exit span by it."""

    UNKNOWN = 0
    MYSQL = 5
    ORACLE = 6
    REDIS = 7
    MONGODB = 9
    POSTGRESQL = 22
    GRPC = 23
    SQLITE = 31
    KAFKA_PRODUCER = 40
    KAFKA_CONSUMER = 41
    ELASTICSEARCH = 47
    RABBITMQ_PRODUCER = 52
    RABBITMQ_CONSUMER = 53
    PULSAR_PRODUCER = 73
    PULSAR_CONSUMER = 74
    HBASE = 94
    NEO4J = 112
    SQLSERVER = 3006
    PYTHON = 7000
    FLASK = 7001
    REQUESTS = 7002
    PYMYSQL = 7003
    DJANGO = 7004
    TORNADO = 7005
    URLLIB3 = 7006
    SANIC = 7007
    AIOHTTP = 7008
    PYRAMID = 7009
    PSYCOPG = 7010
    CELERY = 7011
    FALCON = 7012
    MYSQLCLIENT = 7013
    FASTAPI = 7014
    BOTTLE = 7015
    ASYNCPG = 7016
    AIOREDIS = 7017
    WEBSOCKETS = 7018
    HTTPX = 7019


class Reference(NamedTuple):
    """Where a segment continues from."""

    kind: RefKind
    trace_id: str
    segment_id: str
    span_id: int
    service: str
    instance: str
    endpoint: str
    address: str


Origin = tuple[str, str, str, int]
"""Where a log record comes from: the endpoint, the trace's id, the segment's, and the span's in its segment."""


def origin_of(place: Reference | None) -> Origin | None:
    """The origin of a log record whose place can be referred to; None for none."""
    return None if place is None else (place.endpoint, place.trace_id, place.segment_id, place.span_id)


class PendingOrigin(Protocol):
    """A request that can be described later, at less cost."""

    def late_origin(self) -> Origin | None:
        """The origin of a record that was logged before the request had a span; None when its trace is not recorded.
        Any thread, at any time."""
        ...


INCOMPLETE = ("incomplete", "true")
"""The tag of a span that the agent ended, since the application did not."""


class SpanRecord(Protocol):
    """A span as its segment and the encoder see it."""

    id: int
    parent_id: int
    """-1: none in its segment."""
    name: str
    kind: SpanKind
    layer: int
    component: int
    peer: str
    refs: Sequence[Reference]
    tags: list[tuple[str, str]]
    logs: list[SpanLog]
    failed: bool
    ended: bool
    start_time: float
    end_time: float
    segment: Any

    def now(self) -> float:
        """The time by the span's own clock, in seconds since the epoch."""
        ...

    def name_now(self) -> str:
        """Its name as the collector will see it, if it ends now."""
        ...

    def runs_here(self) -> bool:
        """Whether a span that opened a segment was begun by the task that runs now."""
        ...

    def prepare_end(self) -> bool:
        """Settle what is known only at the end, such as its name. May call foreign code; never raises. False: it has
        ended."""
        ...


class OpenSegment(Protocol):
    """A segment as the tracer sees it."""

    spans: list[SpanRecord]

    def finish_overdue(self, now: float, grace: float) -> None:
        """Finish it, or a part of it, if it has waited for long enough."""
        ...

    def finish_as_it_stands(self) -> None:
        """End what is open, mark it, and finish."""
        ...

    def forget_spans(self) -> None:
        """Let go of the spans once they are recorded."""
        ...
