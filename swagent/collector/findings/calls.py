"""How a call is named: by its statement, the endpoint that answered it, or its operation; pure."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..api.node import Node

_LONGEST = 120
_STRING = re.compile(r"'(?:[^']|'')*'|\$\d+|:\w+|%\(\w+\)s|%s")
_NUMBER = re.compile(r"\b\d+(?:\.\d+)?\b")
_LIST = re.compile(r"\(\s*\?(?:\s*,\s*\?)+\s*\)")
# a part of a path that is another one in each call
_VARIABLE = re.compile(r"(?<=/)(?:\d+|[0-9a-fA-F-]{16,})(?=/|$)")
_WRITES = re.compile(
    r"\W*(?:insert|update|delete|merge|replace|create|alter|drop|begin|commit|rollback|savepoint|set|lock|incr|decr"
    r"|[lr]push|[lrsz]?rem|sadd|zadd|xadd|hset|mset|del|expire|publish)",
    re.IGNORECASE,
)
_READ_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))


class Call(NamedTuple):
    """The call that a span made: its name and its peer.

    :ivar peer: the address, without one the service that answered
    """

    service: str
    peer: str
    name: str


def call_of(node: Node) -> Call:
    """The call that an exit span made."""
    return Call(node.segment.service, node.span.peer or answered_by(node), call_name(node))


def call_name(node: Node) -> str:
    """The name of a call: the same text for each call that differs only by its values."""
    span = node.span
    statement, summary = span.tag("db.statement"), span.tag("db.query.summary")
    if statement:
        return fingerprint(statement)
    if summary:
        return summary[:_LONGEST]
    if span.layer == "Database" and span.tag("db.operation"):
        return f"{span.operation} {span.tag('db.operation')}"[:_LONGEST]
    for child in node.children:
        if child.span.kind == "Entry":
            return child.span.operation[:_LONGEST]
    return _VARIABLE.sub("{}", span.operation)[:_LONGEST] or span.layer


def fingerprint(statement: str) -> str:
    """A statement without its values."""
    text = _NUMBER.sub("?", _STRING.sub("?", " ".join(statement.split())))
    return _LIST.sub("(?)", text)[:_LONGEST]


def answered_by(node: Node) -> str:
    """The service that answered a call; empty where it reports nothing."""
    return next((child.segment.service for child in node.children if child.span.kind == "Entry"), "")


def is_read(node: Node) -> bool:
    """Whether a call only asks for something, as far as its name says."""
    method = node.span.tag("http.method")
    if method is not None:
        return method.upper() in _READ_METHODS
    operation = node.span.tag("db.operation") or call_name(node).rpartition("/")[2]
    return not _WRITES.match(operation) and not _WRITES.match(node.span.tag("db.statement") or "")


def pool_of(node: Node) -> str:
    """The pool for whose connection a span is the wait; empty: it is none."""
    return (node.span.tag("pool") or "") if node.span.kind == "Local" else ""


def is_exit(node: Node) -> bool:
    """Whether a span is a call to be waited for: messages are sent, and not answered."""
    return node.span.kind == "Exit" and node.span.layer != "MQ"
