"""From OpenTelemetry's attributes to SkyWalking's words: tags, layer, component, peer; pure.

Queries, findings and the page know these words. What has no word there is a tag of its own name.
"""

from __future__ import annotations

from collections.abc import Mapping

NAMES = {
    "http.request.method": "http.method",
    "http.response.status_code": "http.status_code",
    "url.full": "url",
    "http.url": "url",
    "db.system.name": "db.type",
    "db.system": "db.type",
    "db.namespace": "db.instance",
    "db.name": "db.instance",
    "db.query.text": "db.statement",
    "db.operation.name": "db.operation",
    "db.collection.name": "db.collection",
    "messaging.destination.name": "mq.topic",
    "rpc.grpc.status_code": "grpc.status_code",
    "gen_ai.system": "gen_ai.provider.name",
    "gen_ai.usage.prompt_tokens": "gen_ai.usage.input_tokens",
    "gen_ai.usage.completion_tokens": "gen_ai.usage.output_tokens",
}
# the words of users and models
_PROMPTS = (
    "gen_ai.prompt", "gen_ai.completion", "gen_ai.content", "gen_ai.input", "gen_ai.output.messages",
    "gen_ai.system_instructions", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result", "gen_ai.tool.definitions",
    "llm.prompts", "llm.completions", "traceloop.entity.input", "traceloop.entity.output",
)  # fmt: skip
_MODELS = ("gen_ai.provider.name", "gen_ai.system", "gen_ai.operation.name", "mcp.method.name")
_SERVERS = (
    ("server.address", "server.port"),
    ("net.peer.name", "net.peer.port"),
    ("network.peer.address", "network.peer.port"),
)
_CLIENTS = (("client.address", "client.port"), ("network.peer.address", "network.peer.port"))
_CACHES = frozenset({"redis", "memcached", "valkey"})
# by the ids of SkyWalking's component libraries
_COMPONENTS = {"mysql": 5, "redis": 7, "mongodb": 9, "postgresql": 22, "grpc": 23, "sqlite": 31, "elasticsearch": 47}
_BROKERS = {"kafka": (40, 41), "rabbitmq": (52, 53), "pulsar": (73, 74)}
UNKNOWN, DATABASE, RPC, HTTP, MQ, CACHE, GEN_AI = 0, 1, 2, 3, 4, 5, 7
ENTRY, EXIT, LOCAL = 0, 1, 2


def layer_of(found: Mapping[str, str]) -> int:
    """The layer of a span, by its number."""
    if system := database_of(found):
        return CACHE if system in _CACHES else DATABASE
    if "messaging.system" in found:
        return MQ
    if any(name in found for name in _MODELS):
        return GEN_AI
    if "rpc.system" in found or "rpc.system.name" in found:
        return RPC
    return HTTP if "http.request.method" in found or "http.method" in found else UNKNOWN


def database_of(found: Mapping[str, str]) -> str:
    """The database that is asked, in lower case; empty where it is none."""
    return (found.get("db.system.name") or found.get("db.system") or "").lower()


def component_of(found: Mapping[str, str], kind: int) -> int:
    """The number of the library at the other end; 0 where SkyWalking has none."""
    brokers = _BROKERS.get(found.get("messaging.system", ""))
    if brokers is not None:
        return brokers[kind == ENTRY]
    return _COMPONENTS.get(database_of(found) or found.get("rpc.system") or found.get("rpc.system.name") or "", 0)


def peer_of(found: Mapping[str, str], kind: int, layer: int) -> str:
    """The address at the other end."""
    if kind == LOCAL:
        return ""
    for address, port in _CLIENTS if kind == ENTRY and layer != MQ else _SERVERS:
        if host := found.get(address):
            number = found.get(port)
            host = f"[{host}]" if ":" in host and number else host
            return f"{host}:{number}" if number else host
    return ""


def tags_of(found: Mapping[str, str], layer: int) -> dict[str, str]:
    """The tags of a span."""
    tags: dict[str, str] = {}
    for key, value in found.items():
        if key.startswith(_PROMPTS):
            continue
        name = NAMES.get(key, key)
        if layer == CACHE and name in ("db.type", "db.operation"):
            name = "cache.type" if name == "db.type" else "cache.cmd"
        tags.setdefault(name, value)
    if "gen_ai.request.model" in tags:
        tags.setdefault("gen_ai.response.model", tags["gen_ai.request.model"])
    return tags
