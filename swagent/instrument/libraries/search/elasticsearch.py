"""Elasticsearch: `perform_request` of the client, which all of its calls come through, the retries of one included."""

from __future__ import annotations

from typing import Any

from ....record.trace.span import Span
from ...arguments import Args, Kwargs
from ...instrumentation import Instrumentation
from ...patches import Patches
from ...showing import showing
from ...wrapping import around_call
from .search_call import around_choice, begin_search, method_and_target, node_address, request_of

_SYSTEM = "Elasticsearch"


def _hook(module: Any, patches: Patches) -> None:
    if module.__name__ == "elastic_transport._node_pool":
        patches.wrap(module.NodePool, "get", around_choice(_SYSTEM, _address))
        return
    patches.wrap(module.BaseClient, "perform_request", around_call(*showing(patches.listeners, _begin, request_of)))


def _begin(client: Any, args: Args, kwargs: Kwargs) -> Span | None:
    method, target = method_and_target(args, kwargs)
    return begin_search(_SYSTEM, method, target, _first_address(client), kwargs.get("body"))


def _first_address(client: Any) -> str:
    nodes = client.transport.node_pool.all()
    return _address(nodes[0]) if nodes else ""


def _address(node: Any) -> str:
    return node_address(node.config.host, node.config.port)


INSTRUMENTATION = Instrumentation(
    name="elasticsearch",
    module="elasticsearch._sync.client._base",
    hook=_hook,
    versions=">=8.0,<10",
    plugins=("sw_elasticsearch",),
    also=("elasticsearch._async.client._base", "elastic_transport._node_pool"),
    opentelemetry=("elasticsearch",),
    shows_calls=True,
)
