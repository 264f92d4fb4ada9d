"""A profile as text: the merged stacks as a tree, with each call's share of the time, and the states at its ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Node = Mapping[str, Any]
STATES = ("running", "ready", "awaiting")
# Calls with a smaller share are left out.
_LEAST = 0.005
# So many calls of libraries, one below the other, become one line.
_LONG = 3


def render_profile(nodes: Sequence[Node], *, everything: bool = False) -> str:
    """The tree in lines.

    :param nodes: the calls, each before those that it made, with their depths
    :param everything: leave out nothing
    """
    own = _own(nodes)
    whole = sum(node["ms"] for node in own if not node["depth"])
    total = max(whole, 1)
    shown = nodes if everything else [node for node in nodes if node["ms"] >= whole * _LEAST]
    lines = [_head(own, whole), ""]
    lines += [f"{ms:>7} ms {ms / total:>5.0%}  {'  ' * indent}{text}" for ms, indent, text in _rows(shown, everything)]
    if len(shown) < len(nodes):
        lines += [
            "",
            f"Calls that took less than {_LEAST:.1%} are left out: {len(nodes) - len(shown)}; --all shows them.",
        ]
    return "\n".join(lines)


def _own(nodes: Sequence[Node]) -> list[Node]:
    """The requests' own nodes, without the tasks and threads beside them; all nodes if there are no own ones."""
    found: list[Node] = []
    is_beside = False
    for node in nodes:
        if not node["depth"]:
            is_beside = node["beside"]
        if not is_beside:
            found.append(node)
    return found or [*nodes]


def _head(nodes: Sequence[Node], total: int) -> str:
    """How the time divides."""
    sums = {state: sum(node["ms"] for node in nodes if node["state"] == state) for state in STATES}
    parts = [f"{state} {ms} ms ({ms / max(total, 1):.0%})" for state, ms in sums.items() if ms]
    return f"{total} ms in the stacks" + (f": {', '.join(parts)}" if parts else "")


def _rows(nodes: Sequence[Node], everything: bool) -> Iterator[tuple[int, int, str]]:
    """Time, indent and text of each line."""
    index, indents = 0, {-1: -1}
    while index < len(nodes):
        node = nodes[index]
        indent = indents[node["depth"] - 1] + 1
        length = 1 if everything else _length_of_row(nodes, index)
        if length < _LONG:
            length, text = 1, node["name"]
        else:
            row = nodes[index : index + length]
            packages = dict.fromkeys(each["name"].partition(".")[0] for each in row)
            text = f"… {length} calls in {', '.join(packages)}"
        yield node["ms"], indent, text
        for each in nodes[index : index + length]:
            indents[each["depth"]] = indent
        index += length


def _length_of_row(nodes: Sequence[Node], index: int) -> int:
    """How many calls of libraries there are from this one on, of which each is the only one of the one before."""
    length = 0
    while index + length < len(nodes):
        node = nodes[index + length]
        is_next = not length or (node["depth"], node["ms"]) == (nodes[index]["depth"] + length, nodes[index]["ms"])
        if not (node["library"] and is_next):
            break
        length += 1
    return length
