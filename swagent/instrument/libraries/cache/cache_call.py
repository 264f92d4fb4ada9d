"""The span of a command to a cache, the same for every client.

Its name is the official agent's, such as `Redis/GET`; the key is shown only where the user wants it, and what is kept
below it never. The collector keeps what a cache takes from its exit spans, reading and writing apart: `cache.op`.
"""

from __future__ import annotations

from typing import NamedTuple

from ....record.limits import as_text, short
from ....record.trace.model import Component, Layer
from ....record.trace.span import Span
from ...call import begin_call
from ...settings import current


class Command(NamedTuple):
    """The description of a command by its name."""

    span_name: str
    tags: tuple[tuple[str, str], ...]
    has_key: bool
    """Whether its first argument is a key."""


def begin_command(command: Command, peer: str, key: object = None) -> Span | None:
    """Begin the span of a command. None: nothing is recorded here, or it is a part of another call.

    :param peer: `host:port`
    :param key: text, bytes, or what the client takes; shown only where `cache_keys` is on
    """
    tags = command.tags
    if key is not None and current().cache_keys:
        tags = (*tags, ("cache.key", _text_of(key)))
    return begin_call(command.span_name, peer, Layer.CACHE, Component.REDIS, tags)


def _text_of(key: object) -> str:
    return short(key.decode("utf-8", "replace") if isinstance(key, bytes) else as_text(key))
