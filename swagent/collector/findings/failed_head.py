"""The span with which the failure of a trace ends: what is above it did not fail; pure."""

from __future__ import annotations

from collections.abc import Iterable

from ..api.node import Node
from ..store.failed_segments import GRAPHQL_PREFIX, GRAPHQL_TAG
from .places import place

_NAMED = "graphql.operation.name"


def failed_head(head: Node, nodes: Iterable[Node], of: str = "") -> Node | None:
    """The request, where it failed. Else the failed work after its response, or the failed GraphQL operation: an answer
    with errors has the status 200. None where none of them failed.

    :param nodes: of its trace
    :param of: the name of a span that failed. Of several operations it is the one that this failure came to; None where
        it was survived
    """
    if head.span.is_error and head.span.kind == "Entry":
        return head
    nodes = tuple(nodes)
    found = [node for node in nodes if _is_late(node) or _is_failed_operation(node)]
    if of:
        begins = [node for node in nodes if place(node).span == of] if found else []
        found = [each for each in found if any(leads(node, each) for node in begins)]
    return next(iter(found), None)


def leads(node: Node, head: Node) -> bool:
    """Whether each span from one up to the head failed."""
    current: Node | None = node
    while current is not None and current.span.is_error:
        if current is head:
            return True
        current = current.parent
    return False


def is_operation(node: Node) -> bool:
    """Whether a span is a GraphQL operation, or the look at its document."""
    span = node.span
    return span.kind == "Local" and (span.operation.startswith(GRAPHQL_PREFIX) or span.tag(GRAPHQL_TAG) is not None)


def operation_name(node: Node) -> str:
    """The operation of a span, and the name of the GraphQL operation where it does not say it."""
    operation, name = node.span.operation, node.span.tag(_NAMED)
    return f"{operation} of {name}" if name and name not in operation else operation


def _is_failed_operation(node: Node) -> bool:
    around = node.parent
    return node.span.is_error and is_operation(node) and (around is None or not around.span.is_error)


def _is_late(node: Node) -> bool:
    """Whether it failed after the request that it is part of, which did not."""
    around, span = node.parent, node.span
    is_first = span.is_error and span.kind == "Local" and span.parent_span_id == -1
    return is_first and around is not None and not around.span.is_error and node.start >= around.end
