"""Redis and Valkey: `execute_command` of their clients, a pipeline's `execute`, and the same of a cluster.

One span for what the user would call one call: a command with its retries and redirections, a pipeline with all of its
commands. A command that waits for another client has none: subscriptions, and reads that block until there is
something. Its span would last until the other client writes, which says nothing of the server, and the collector would
take that time for the time that the cache needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

from ....record.bounded_cache import remembered
from ....record.limits import as_text, name_of
from ....record.trace.span import Span
from ...address import place_of
from ...arguments import Args, Kwargs, argument
from ...call import end_call, outer_call
from ...instrumentation import Hook, Instrumentation
from ...looking import before_call
from ...patches import Patches
from ...showing import showing
from ...wrapping import around_call
from .broker_pools import is_upkeep, place_of_pool
from .cache_call import Command, begin_command
from .redis_commands import KEY_ELSEWHERE, READS, WAITING, WAITING_ON_REQUEST, WITH_SUBCOMMANDS, WRITES
from .redis_pools import watch_redis

# How many commands of a pipeline are looked at: some send a million.
_LOOKED_AT = 100
# The longest names of commands, with their subcommands, have half of it.
_MAX_WORD = 64


def _hook_for(system: str) -> Hook:
    """The hook for a client whose classes are named after its system: `Redis`, `RedisCluster`."""
    begin, begin_pipeline = _begin_for(system), _begin_pipeline_for(system)

    def hook(module: Any, patches: Patches) -> None:
        if module.__name__.endswith(".connection"):
            watch_redis(patches, module, place_of_pool)
            return
        command = around_call(*showing(patches.listeners, begin, _arguments_of), _failed)
        pipeline = around_call(*showing(patches.listeners, begin_pipeline, _pipeline_of))
        cluster = getattr(module, f"{system}Cluster", None)
        if cluster is not None:
            patches.wrap(cluster, "execute_command", command)
            patches.wrap(cluster, "_execute_command", before_call(_note_node))
            patches.wrap(module.ClusterPipeline, "execute", pipeline)
            return
        patches.wrap(getattr(module, system), "execute_command", command)
        patches.wrap(module.Pipeline, "execute", pipeline)
        patches.wrap(module.Pipeline, "immediate_execute_command", command)

    return hook


def _begin_for(system: str) -> Callable[..., Span | None]:
    def begin(client: Any, args: Args, _: Kwargs) -> Span | None:
        word = args[0]
        command = _describe(system, word)
        if command is None or (command.tags[1][1] in WAITING_ON_REQUEST and _has_block(args)):
            return None
        if is_upkeep(client):
            return None
        return begin_command(command, _peer_of(client), args[1] if command.has_key and len(args) > 1 else None)

    return begin


def _begin_pipeline_for(system: str) -> Callable[..., Span | None]:
    def begin(pipeline: Any, _: Args, __: Kwargs) -> Span | None:
        if is_upkeep(pipeline):
            return None
        words = tuple(dict.fromkeys(islice(_words_of(pipeline), _LOOKED_AT)))
        return begin_command(_describe_pipeline(system, words), _peer_of(pipeline)) if words else None

    return begin


def _arguments_of(_: object, args: Args, __: Kwargs) -> Any:
    return args


def _pipeline_of(pipeline: Any, *_: object) -> Any:
    return pipeline


def _failed(span: Span, error: BaseException) -> None:
    # how a server says that a script has to be sent first, which the client does
    end_call(span, error if type(error).__name__ != "NoScriptError" else None)


def _note_node(_: object, args: Args, kwargs: Kwargs) -> None:
    span = outer_call()
    if span is not None and span.name.startswith(("Redis/", "Valkey/")):
        node = argument(args, kwargs, 0, "target_node")
        span.peer = place_of(node.host, node.port)


@remembered(1024)
def _describe(system: str, word: object) -> Command | None:
    """Describe a command by its first argument. None: it has no span."""
    name = _name_of(word)
    if name in WAITING:
        return None
    operation = _operation_of((name,))
    tags = (("cache.type", system), ("cache.cmd", name), *operation)
    return Command(name_of(f"{system}/{name}"), tags, bool(operation) and name not in KEY_ELSEWHERE)


@remembered(1024)
def _describe_pipeline(system: str, words: tuple[object, ...]) -> Command:
    names = tuple(dict.fromkeys(map(_name_of, words)))
    tags = (("cache.type", system), ("cache.cmd", name_of(" ".join(names))), *_operation_of(names))
    return Command(f"{system}/PIPELINE", tags, False)


def _name_of(word: object) -> str:
    """A command's name in upper case. Its first argument may hold others behind it: a subcommand, or a key."""
    if isinstance(word, (str, bytes)):
        # what follows it may be as long as a value
        word = word[:_MAX_WORD]
    text = word.decode("utf-8", "replace") if isinstance(word, bytes) else as_text(word)[:_MAX_WORD]
    first, *others = text.upper().split() or [""]
    return f"{first} {others[0]}" if others and first in WITH_SUBCOMMANDS else first


def _operation_of(names: Iterable[str]) -> tuple[tuple[str, str], ...]:
    if not WRITES.isdisjoint(names):
        return (("cache.op", "write"),)
    return (("cache.op", "read"),) if not READS.isdisjoint(names) else ()


def _has_block(args: tuple[Any, ...]) -> bool:
    # in front of the streams' names: XREADGROUP GROUP group consumer COUNT 1 BLOCK 0 STREAMS …
    return any(arg in ("BLOCK", b"BLOCK", "block") for arg in args[1:8])


def _words_of(pipeline: Any) -> Iterable[object]:
    """The first arguments of the commands that a pipeline will send."""
    # a cluster's pipeline has moved them from itself to a strategy, and under other names
    holder = getattr(pipeline, "_execution_strategy", pipeline)
    queue: Sequence[Any] = ()
    for name in ("_command_queue", "command_stack", "_command_stack"):
        queue = getattr(holder, name, None) or queue
    return map(_word_of, queue)


def _word_of(queued: Any) -> object:
    args: Sequence[object] = getattr(queued, "args", None) or queued[0]
    word = args[0]
    return word[:_MAX_WORD] if isinstance(word, (str, bytes)) else as_text(word)[:_MAX_WORD]


def _peer_of(client: Any) -> str:
    pool = getattr(client, "connection_pool", None)
    if pool is None:
        return _peer_of_cluster(client)
    return place_of_pool(pool)


def _peer_of_cluster(client: Any) -> str:
    """A node to begin with; the one that is asked is noted when it is."""
    client = getattr(client, "cluster_client", None) or getattr(client, "_client", client)
    nodes = client.nodes_manager
    node = nodes.default_node or next(iter(nodes.startup_nodes.values()))
    return place_of(node.host, node.port)


def _instrumentation(name: str, versions: str, *plugins: str) -> Instrumentation:
    also = (f"{name}.asyncio.client", f"{name}.cluster", f"{name}.asyncio.cluster", f"{name}.connection",
            f"{name}.asyncio.connection")  # fmt: skip
    hook = _hook_for(name.capitalize())
    return Instrumentation(name, f"{name}.client", hook, "", versions, plugins, also, (name,), shows_calls=True)


REDIS = _instrumentation("redis", ">=4.5,<9", "sw_redis")
VALKEY = _instrumentation("valkey", ">=6,<7")
