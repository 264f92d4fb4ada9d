"""Exit spans for the usual kinds of calls, with the tags and the layer by which the collector knows them.

None of them asks for what may be private: the parameters of a statement, the key and the value of a cache, the body of
a message. An application that wants them at the collector tags them.
"""

from __future__ import annotations

from ..limits import address_of, as_text, name_of, short
from .model import Component, Layer, SpanKind
from .span import Span


def database_span(
    name: str,
    peer: str,
    *,
    component: int = Component.UNKNOWN,
    type: str | None = None,  # noqa: A002, RUF100  (as the tag)
    instance: str | None = None,
    statement: str | None = None,
) -> Span:
    """A span for a database's work; a context manager.

    :param name: the operation, such as `SELECT orders`: not the statement, since the collector keeps metrics for each
    :param peer: the server, `host:port`
    :param type: of database, such as `postgresql`
    :param instance: the name of the database
    :param statement: with placeholders for its parameters; what is written into it is shown
    """
    return _call(name, peer, Layer.DATABASE, component,
                 {"db.type": type, "db.instance": instance, "db.statement": statement})  # fmt: skip


def cache_span(
    name: str,
    peer: str,
    *,
    component: int = Component.UNKNOWN,
    type: str | None = None,  # noqa: A002, RUF100  (as the tag)
    op: str | None = None,
    command: str | None = None,
) -> Span:
    """A span for a cache's work; a context manager.

    :param peer: the server, `host:port`
    :param type: of cache, such as `redis`
    :param op: `read` or `write`, by which the collector groups its metrics
    :param command: such as `GET`, without its arguments
    """
    return _call(name, peer, Layer.CACHE, component, {"cache.type": type, "cache.op": op, "cache.cmd": command})


def message_span(
    name: str,
    peer: str,
    *,
    component: int = Component.UNKNOWN,
    topic: str | None = None,
    queue: str | None = None,
) -> Span:
    """A span for sending a message; a context manager. Send `span.headers()` along with it. To receive messages, use
    `swagent.messages.consume`.

    :param name: such as `Kafka/orders/Producer`
    :param peer: the broker, `host:port`; of several, joined by a comma or semicolon
    """
    tags: dict[str, object] = {"mq.broker": address_of(peer), "mq.topic": topic, "mq.queue": queue}
    return _call(name, peer, Layer.MQ, component, tags)


def rpc_span(
    name: str, peer: str, *, component: int = Component.GRPC, method: str | None = None, url: str | None = None
) -> Span:
    """A span for a remote call; a context manager. Send `span.headers()` along with it.

    :param peer: the server, `host:port`
    :param method: of gRPC, such as `/shop.Orders/Get`
    :param url: of gRPC
    """
    return _call(name, peer, Layer.RPC_FRAMEWORK, component, {"grpc.method": method, "grpc.url": url})


def _call(name: str, peer: str, layer: Layer, component: int, tags: dict[str, object]) -> Span:
    span = Span(name_of(name), SpanKind.EXIT, address_of(peer), layer, component)
    # not by `tag`, which is for a span that has begun; None is how callers say that they do not know
    texts = {key: as_text(value) for key, value in tags.items() if value is not None}
    span.tags = [(key, short(text)) for key, text in texts.items() if text]
    return span
