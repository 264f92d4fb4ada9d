"""The one description of a request: the name of its span, its tags, and whether it failed."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs

from ..acceleration import native
from ..record.bounded_cache import BoundedCache
from ..record.cardinality import OVERFLOW, CardinalityLimit
from ..record.limits import address_of, name_of, short
from ..record.trace.model import Layer, SpanKind
from ..record.trace.single_span import SpanTemplate
from .facts import UNMATCHED, WEBSOCKET, Facts

Tag = tuple[str, str]

_ENTRY, _HTTP = SpanKind.ENTRY, Layer.HTTP
_by_path = False
# As the official agent: a request without a route is named by its path, and a status from 400 on is a failure.
_as_official = False
_fails_from = 500
_MAX_HOST = 255
_MAX_PARAMETERS = 1000


def describe(facts: Facts, real_path: bool = False) -> SpanTemplate:
    """The span of a request, but for its times and its peer.

    :param real_path: whether its URL shows the requested path instead of the route
    """
    if real_path or _by_path or facts.template is None or facts.template is UNMATCHED:
        # not cached: a client can send any path
        return _describe(facts, real_path)
    method, scheme, host, _, route, component, status = facts
    # a plain tuple: `_replace` takes as long as all the rest
    return TEMPLATES[method, scheme, host, "", route, component, status]


def admit(template: SpanTemplate, facts: Facts, endpoints: CardinalityLimit) -> str:
    """The name of a request's span within the limit of how many endpoints there may be."""
    return admit_name(template.name, facts.method, facts.template, endpoints)


def admit_name(name: str, method: str, template: str | None, endpoints: CardinalityLimit) -> str:
    """As `admit`, by the name and what it is made of."""
    if name in endpoints.known or (template is UNMATCHED and not _as_official):
        return name
    return endpoints.keep(name, name_by_path(method, OVERFLOW), from_client=_by_path or template is None)


def name_so_far(method: str, path: str, template: str | None) -> str:
    """The name of a request's operation, by its route where one is known."""
    if template is None or _is_path(template):
        return name_by_path(method, path)
    return _NAMES[method, template]


def _is_path(template: str) -> bool:
    return _by_path and (_as_official or template is not UNMATCHED)


def name_by_path(method: str, path: str) -> str:
    """The name of a request's operation as long as no route is known."""
    return name_of(path if _by_path else f"{method}:{path}")


def use_endpoint_style(style: str, *, as_official: bool = False) -> None:
    """Name the operations of all requests so from now on.

    :param style: `route`: method and route; `path`: the requested path, as the official agent does
    :param as_official: whether a path that no route has matched is a name too, and whether a status from 400 on is a
        failure
    """
    global _by_path, _as_official, _fails_from  # noqa: PLW0603, RUF100
    _by_path, _as_official = style == "path", as_official
    _fails_from = 400 if as_official else 500
    TEMPLATES.clear()
    _NAMES.clear()
    if native is not None:
        native.name_by_path(_by_path)


def parameters_tag(query: bytes, length: int) -> tuple[Tag, ...]:
    """The parameters of a query as a tag, as the official agent writes them; none, where there are none.

    :param length: in characters; 0: any
    """
    parsed = parse_qs(query.decode("latin-1"), keep_blank_values=True, max_num_fields=_MAX_PARAMETERS)
    text = "\n".join(f"{name}=[{','.join(values)}]" for name, values in parsed.items())
    return (("http.params", short(text[:length] if length else text)),) if text else ()


def _describe(facts: tuple[Any, ...], real_path: bool = False) -> SpanTemplate:
    method, scheme, host, path, template, component, status = facts
    origin = ORIGINS[scheme, host]
    # The URL shows the route, because the value of a path parameter may be a secret, such as the token of a reset link.
    # The setting `http_url_real_path` shows the path instead.
    name = name_by_path(method, path if template is None or _is_path(template) else template)
    shown = path if real_path or template is None or template is UNMATCHED else template
    tags: tuple[Tag, ...] = (METHODS[method], ("http.url", short(origin + shown)))
    if status:
        tags = (*tags, STATUSES[status])
    return SpanTemplate(name, _ENTRY, _HTTP, component, tags, failed=is_failure(status))


def is_failure(status: int) -> bool:
    """Whether a request that was answered so has failed."""
    return status >= _fails_from


def _origin(key: tuple[str, bytes]) -> str:
    scheme, host = key
    # the part before an @ does not belong to the host, and may be a password
    return f"{scheme}://{host.decode('latin-1').rpartition('@')[2][:_MAX_HOST]}"


def _peer(client: tuple[object, ...]) -> str:
    # some servers do not know the client's port
    return address_of(f"{client[0]}:{client[1]}" if client[1] else client[0])


# Values that repeat, in the form in which they are written: connections, hosts, routes, methods, statuses.
ORIGINS = BoundedCache(_origin)
PEERS = BoundedCache(_peer)
METHODS: BoundedCache[str, Tag] = BoundedCache(lambda method: ("http.method", "GET" if method == WEBSOCKET else method))
STATUSES: BoundedCache[int, Tag] = BoundedCache(lambda status: ("http.status_code", str(int(status))))
TEMPLATES: BoundedCache[tuple[Any, ...], SpanTemplate] = BoundedCache(_describe)
_NAMES: BoundedCache[tuple[str, str], str] = BoundedCache(lambda key: name_by_path(*key))
