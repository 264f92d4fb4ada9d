"""The settings that a collector may change at run time: four of them, read from its command and held within limits.

A number that is out of its range is brought into it. A value that cannot be read makes the whole command void, and so
does one that would take long to match at each request. All else in the command is for other agents, and is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..config.options import parse_list

COMMAND = "ConfigurationDiscoveryCommand"
_MAX_UUID = 256
# Digits: Python takes long for some thousands of them.
_NUMBER = re.compile("[+-]?[0-9]{1,18}")
_MAX_TRACES = 1_000_000_000
_MAX_SPANS = 100_000
# Characters of a list, and wildcards in it: an expression is made of it while the loop waits.
_MAX_LIST = 1000
_MAX_WILDCARDS = 64
# Two wildcards over the same characters, of which the first may cross parts: the time that a name takes which does not
# match grows with the square of its length.
_SLOW = re.compile(r"\*\*[^/*]*\*(?!\*)")


class RemoteSettings(NamedTuple):
    """The settings of one service, as a collector sent them."""

    uuid: str
    values: Mapping[str, Any]
    """By the names of the fields of `Config`; a setting that is not here is as it was at the start."""


def read_settings(arguments: Mapping[str, str]) -> RemoteSettings:
    """Read the arguments of a command.

    :raises ValueError: when they are no settings. Its text holds nothing that the collector said
    """
    uuid = arguments.get("UUID", "")
    if not uuid or len(uuid) > _MAX_UUID or not uuid.isprintable():
        raise ValueError("it has no UUID")
    values: dict[str, Any] = {}
    for key, (name, read) in FOLLOWED.items():
        text = arguments.get(key, "").strip()
        # an empty one is taken away, as the official agents have it
        if text:
            try:
                values[name] = read(text)
            except ValueError as error:
                raise ValueError(f"{key} {error}") from None
    return RemoteSettings(uuid, values)


def _number(text: str) -> int:
    if _NUMBER.fullmatch(text) is None:
        raise ValueError("is no whole number")
    return int(text)


def _traces(text: str) -> int:
    return min(max(_number(text), 0), _MAX_TRACES)


def _spans(text: str) -> int:
    """0 and less ask for no limit, and get the widest."""
    number = _number(text)
    return min(number, _MAX_SPANS) if number > 0 else _MAX_SPANS


def _texts(text: str) -> tuple[str, ...]:
    if len(text) > _MAX_LIST or not text.isprintable():
        raise ValueError(f"is no list of at most {_MAX_LIST} characters")
    return parse_list(text)


def _paths(text: str) -> tuple[str, ...]:
    found = _texts(text)
    if text.count("*") > _MAX_WILDCARDS:
        raise ValueError(f"has more than {_MAX_WILDCARDS} wildcards")
    if any(map(_SLOW.search, found)):
        raise ValueError("has a pattern with `*` behind `**` in one part of a path")
    return found


FOLLOWED: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "agent.sample_n_per_3_secs": ("sample_n_per_3_secs", _traces),
    "agent.ignore_suffix": ("ignore_suffix", _texts),
    "agent.trace.ignore_path": ("trace_ignore_path", _paths),
    "agent.span_limit_per_segment": ("span_limit", _spans),
}
"""The keys that are followed, as the official agents name them: which setting it is, and how it is read."""
