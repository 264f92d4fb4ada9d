"""The way of a failure from where it began to the answer: one group for all services that it passed through; pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..api.failures import exception, status
from ..api.node import Node
from ..api.stacks import own_frame
from .calls import call_name
from .failed_head import failed_head, is_operation, leads, operation_name
from .finding import Finding, trace_link
from .places import place, places
from .requests import entry_of
from .words import plural, short_path

_LONGEST = 8


class Chain(NamedTuple):
    """A failure and what became of it.

    :ivar links: in words, the origin first
    :ivar nodes: the spans of these
    :ivar key: the same for chains that differ only by lines
    :ivar head: the request that failed, or the work after its response, or the GraphQL operation
    """

    links: tuple[str, ...]
    nodes: tuple[Node, ...]
    key: tuple[str, ...]
    head: Node

    @property
    def origin(self) -> Node:
        """The span where it began."""
        return self.nodes[0]


def chain_of(head: Node, nodes: Iterable[Node], of: str = "") -> Chain | None:
    """The chain that led to the failure of a request, or else of work after its response or of a GraphQL operation;
    None where none of them failed.

    :param nodes: of its trace
    :param of: the name of a span that failed; empty: any
    """
    nodes = tuple(nodes)
    found = failed_head(head, nodes, of)
    if found is None:
        return None
    head = found
    origin = max((node for node in nodes if leads(node, head)), key=_rank, default=head)
    links: list[str] = []
    keys: list[str] = []
    spans: list[Node] = []
    node: Node | None = origin
    while node is not None:
        link, key = _link(node)
        if link and key not in keys:
            links.append(link)
            keys.append(key)
            spans.append(node)
        node = None if node is head else node.parent
    code = status(head.span)
    if code or not links:
        links.append(code or "failed")
        keys.append(code or "failed")
        spans.append(head)
    if is_operation(head):
        keys.append(operation_name(head))
    return Chain(tuple(_short(links)), tuple(spans), tuple(keys), head)


def _rank(node: Node) -> tuple[bool, int, int]:
    """The deepest failure with an exception, of several the last: earlier ones were survived."""
    depth, current = 0, node.parent
    while current is not None:
        depth, current = depth + 1, current.parent
    return bool(exception(node.span)[0]), depth, node.end


def _link(node: Node) -> tuple[str, str]:
    """A step in words, and what does not change of it; empty where a span only passes a failure on."""
    kind, _, stack = exception(node.span)
    kind = kind.rpartition(".")[2]
    frame = own_frame(stack) if stack else None
    if kind and frame is not None and not frame.is_library:
        return f"{kind} {short_path(frame.file)}:{frame.line}", f"{kind} {frame.file} {frame.function}"
    if kind:
        return f"{kind} in {node.segment.service}", f"{kind} {node.segment.service}"
    if node.span.kind == "Exit" and not any(child.span.is_error for child in node.children):
        code = status(node.span)
        text = f"{call_name(node)} at {node.span.peer}" + (f": {code}" if code else "")
        return text, text
    return "", ""


def _short(links: list[str]) -> list[str]:
    if len(links) <= _LONGEST:
        return links
    return [*links[: _LONGEST - 2], "…", links[-1]]


def _request_of(head: Node) -> Node:
    late = head.parent if head.span.kind != "Entry" else None
    return (late and entry_of(late)) or head


def finding_of(chain: Chain, count: int | None = None) -> Finding:
    """The finding of a chain.

    :param count: how many traces failed so; None: it is said of one trace
    """
    head = _request_of(chain.head)
    origin = head if chain.origin is chain.head else entry_of(chain.origin) or chain.origin
    when = "" if head is chain.head else f", {operation_name(chain.head)}"
    links, request = " → ".join(chain.links), f"{head.segment.service} · {head.span.operation}{when}"
    text = f"{request} failed: {links}"
    if count is not None:
        text = f"{links} · {plural(count, 'time')}, {'the last ' if count > 1 else ''}in {request}"
    about = head if count is None else origin
    if about is head and is_operation(chain.head):  # others of them have the same request
        about = chain.head
    return Finding(
        "error_chain", text, about.segment.service, about.span.operation,
        "high" if exception(chain.origin.span)[0] else "medium", trace_link(place(chain.origin)), count=count or 1,
        failures=count or 1, places=places(chain.nodes),
    )  # fmt: skip
