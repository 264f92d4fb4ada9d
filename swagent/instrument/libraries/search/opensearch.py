"""OpenSearch: `perform_request` of the transport, which all calls of a client come through, retries included."""

from __future__ import annotations

from typing import Any

from ....record.trace.span import Span
from ...arguments import Args, Kwargs
from ...instrumentation import Instrumentation
from ...patches import Patches
from ...showing import showing
from ...wrapping import around_call
from .search_call import around_choice, begin_search, method_and_target, node_address, request_of

_SYSTEM = "OpenSearch"


def _hook(module: Any, patches: Patches) -> None:
    transport = module.AsyncTransport if "._async." in module.__name__ else module.Transport
    patches.wrap(transport, "perform_request", around_call(*showing(patches.listeners, _begin, request_of)))
    patches.wrap(transport, "get_connection", around_choice(_SYSTEM, _address))


def _begin(transport: Any, args: Args, kwargs: Kwargs) -> Span | None:
    method, url = method_and_target(args, kwargs)
    connections = transport.connection_pool.connections
    peer = _address(connections[0]) if connections else ""
    return begin_search(_SYSTEM, method, url, peer, kwargs.get("body"))


def _address(connection: Any) -> str:
    return node_address(connection.hostname, connection.port)


INSTRUMENTATION = Instrumentation(
    name="opensearch",
    module="opensearchpy.transport",
    hook=_hook,
    distribution="opensearch-py",
    versions=">=2.0,<4",
    also=("opensearchpy._async.transport",),
    shows_calls=True,
)
