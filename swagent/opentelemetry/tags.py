"""Attributes become tags: under the wire's names where it has them, else under their own, and nothing that may be
private.

Both the old and the stable semantic conventions are met. Attributes that only name the peer get no tag: the span has a
field for the peer.
"""

from __future__ import annotations

from typing import Any

from ..record.bounded_cache import BoundedCache
from ..record.limits import as_text, short

# By the attribute's name; empty: no tag.
_NAMES = {
    "http.method": "http.method",
    "http.request.method": "http.method",
    "http.status_code": "http.status_code",
    "http.response.status_code": "http.status_code",
    "db.system": "db.type",
    "db.system.name": "db.type",
    "db.name": "db.instance",
    "db.namespace": "db.instance",
    "db.operation": "db.operation",
    "db.operation.name": "db.operation",
    "messaging.destination": "mq.topic",
    "messaging.destination.name": "mq.topic",
    "messaging.kafka.destination.topic": "mq.topic",
    "rpc.grpc.status_code": "grpc.status_code",
    "rpc.response.status_code": "grpc.status_code",
    "gen_ai.system": "gen_ai.provider.name",
    "gen_ai.usage.prompt_tokens": "gen_ai.usage.input_tokens",
    "gen_ai.usage.completion_tokens": "gen_ai.usage.output_tokens",
    "llm.usage.prompt_tokens": "gen_ai.usage.input_tokens",
    "llm.usage.completion_tokens": "gen_ai.usage.output_tokens",
    # they are in the operation's name, the URL, the peer or the layer
    "db.query.summary": "db.query.summary",
    "db.statement": "",
    "db.query.text": "",
    "db.user": "",
    "db.connection_string": "",
    "http.flavor": "",
    "http.host": "",
    "http.request.method_original": "",
    "http.route": "",
    "http.scheme": "",
    "http.server_name": "",
    "http.target": "",
    "http.url": "",
    "http.client_ip": "",
    "http.user_agent": "",
    "user_agent.original": "",
    "url.full": "",
    "url.path": "",
    "url.query": "",
    "url.scheme": "",
    "messaging.system": "",
    "messaging.url": "",
    "messaging.destination_kind": "",
    "rpc.system": "",
    "rpc.system.name": "",
    "thread.id": "",
    "thread.name": "",
}
_PEER = ("server.", "net.", "network.", "client.", "peer.", "host.")
# Texts of the application's users, requests and answers.
_PRIVATE = (
    "http.request.header", "http.response.header", "http.request.body", "http.response.body",
    "rpc.grpc.request.metadata", "rpc.grpc.response.metadata", "rpc.request.metadata", "rpc.response.metadata",
    "rpc.message.body", "messaging.message.body", "messaging.kafka.message.key", "messaging.message.id",
    "messaging.message_id", "db.query.parameter", "db.statement.parameter", "db.sql.parameters",
    "db.cassandra.parameters", "db.mongodb.document", "graphql.document", "graphql.source", "graphql.variable",
    "graphql.args", "gen_ai.prompt", "gen_ai.completion", "gen_ai.content", "gen_ai.input", "gen_ai.output.messages",
    "gen_ai.system_instructions", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result", "gen_ai.tool.definitions",
    "llm.prompts", "llm.completions", "llm.input", "llm.output", "llm.request.functions", "llm.headers",
    "traceloop.entity.input", "traceloop.entity.output", "mcp.request.argument", "mcp.response.value", "input.value",
    "output.value", "enduser.", "user.", "celery.args", "celery.kwargs", "aws.request.body", "faas.document.name",
    "process.command", "process.executable", "process.pid",
)  # fmt: skip
_COUNTS = ("_tokens", ".tokens", ".size", ".count", "_count", "_size")
_PRIVATE_WORDS = frozenset({"argument", "arguments", "body", "cookie", "header", "headers", "kwargs", "parameters",
                            "password", "payload", "prompt", "query", "secret", "token"})  # fmt: skip


def _name_of(key: str) -> str:
    known = _NAMES.get(key)
    if known is not None:
        return known
    if key.endswith(_COUNTS):
        return short(key)
    if key.startswith((*_PEER, *_PRIVATE)) or not _PRIVATE_WORDS.isdisjoint(key.lower().replace("_", ".").split(".")):
        return ""
    return short(key)


_KNOWN: BoundedCache[str, str] = BoundedCache(_name_of)
_SEQUENCES: tuple[Any, ...] = (list, tuple)
_OF_CACHES = {"db.type": "cache.type", "db.operation": "cache.cmd", "db.instance": ""}


def tag_name(key: str) -> str:
    """The tag of an attribute; empty where it has none."""
    return _KNOWN[key] if type(key) is str else ""


def tags_of(attributes: dict[str, Any], *, is_cache: bool = False) -> dict[str, str]:
    """The tags of a span's attributes; the first of two that have one tag counts.

    :param is_cache: whether they say of a cache what is said of a database elsewhere
    """
    tags: dict[str, str] = {}
    for key, value in attributes.items():
        name = tag_name(key)
        if is_cache:
            name = _OF_CACHES.get(name, name)
        if name and name not in tags and value is not None:
            tags[name] = short(value if type(value) is str else text_of(value))
    return tags


def text_of(value: Any) -> str:
    """An attribute's value as text; of several, with commas between."""
    if type(value) in _SEQUENCES:
        return ",".join(map(as_text, value[:100]))
    return as_text(value)
