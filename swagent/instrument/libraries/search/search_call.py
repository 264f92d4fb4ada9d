"""The span of a request to a search engine, the same for Elasticsearch and OpenSearch.

Its name is the official agent's, `Elasticsearch/GET/orders/_doc/17`, with the ids and the dates taken out: the
collector keeps metrics for each name. The search itself is shown only where the user wants it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from ....record.bounded_cache import remembered
from ....record.limits import name_of
from ....record.trace.model import Component, Layer
from ....record.trace.span import Span
from ...address import place_of
from ...arguments import Args, Kwargs
from ...call import begin_call, outer_call
from ...excerpt import excerpt_of
from ...looking import after_call
from ...settings import current
from ..http.http_call import template_of

_MAX_BODY = 2048
# The part of a path that follows one of these is an id, such as a document's.
_BEFORE_IDS = frozenset(
    ("_async_search", "_create", "_doc", "_explain", "_source", "_tasks", "_termvectors", "_update", "async", "scroll")
)
_NUMBER = re.compile(r"\d{2,}(?:[.\-_]\d+)*", re.ASCII)


class SearchRequest(NamedTuple):
    """A request, as `on_request` sees it, since the clients have no object for one."""

    method: str
    target: str
    """The path, with or without a query."""
    params: Any
    headers: Any
    body: Any


def request_of(_: object, args: Args, kwargs: Kwargs) -> SearchRequest:
    """The request of a call of `perform_request`. Both clients have these names."""
    others = (kwargs.get(name) for name in SearchRequest._fields[2:])
    return SearchRequest(*method_and_target(args, kwargs), *others)


def method_and_target(args: Args, kwargs: Kwargs) -> tuple[str, str]:
    """Such as GET and a path; their name depends on the client and its version."""
    if len(args) > 1:
        return args[0], args[1]
    return kwargs["method"], kwargs.get("path") or kwargs.get("url") or kwargs["target"]


def begin_search(system: str, method: str, target: str, peer: str, body: object) -> Span | None:
    """Begin the span of a request. None: nothing is recorded here, or it is a part of another call.

    :param system: `Elasticsearch`
    :param target: the path, with or without a query
    :param peer: the first of those that may be asked; `note_node` corrects it
    """
    tags = [("db.type", system)]
    if body is not None and current().elasticsearch_dsl:
        tags.append(("db.statement", excerpt_of(body, _MAX_BODY)))
    name = _name_of(system, method, target.partition("?")[0])
    return begin_call(name, peer, Layer.DATABASE, Component.ELASTICSEARCH, tuple(tags))


def around_choice(system: str, address: Callable[[Any], str]) -> Callable[..., Any]:
    """For `Patches.wrap`: the method that chooses the server to ask, anew for each try.

    :param address: of what it has chosen
    """

    def note(_: object, chosen: Any, *__: object) -> None:
        span = outer_call()
        if span is not None and span.name.startswith(system):
            span.peer = address(chosen)

    return after_call(note)


def node_address(host: str, port: int | None) -> str:
    """The address of a node, `host:port`."""
    return place_of(host, port or 9200)


@remembered(1024)
def _name_of(system: str, method: str, path: str) -> str:
    return name_of(f"{system}/{method}{path_template(path)}")


def path_template(path: str) -> str:
    """A path with `{id}` for ids, and `{n}` for what numbers an index.

    >>> path_template("/logs-2026.11.22-000001/_doc/17")
    '/logs-{n}/_doc/{id}'
    """
    parts = template_of(path if path.startswith("/") else f"/{path}").split("/")
    for place, part in enumerate(parts):
        if place and parts[place - 1] in _BEFORE_IDS and part:
            parts[place] = "{id}"
        elif not part.startswith(("_", "{")):
            parts[place] = _NUMBER.sub("{n}", part)
    return "/".join(parts)
