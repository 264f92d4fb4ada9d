"""The merged stacks of profiles. The last few are kept: a page that shows one asks again whenever anything arrives."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..store.bounded_map import BoundedMap
from ..store.store import Store
from .stack_tree import Answer, Look, StackTree

_KEPT = 8
# Stacks that are read at once.
_PAGE = 100
_STACKS = """
SELECT sequence, time, stack FROM snapshots WHERE task = :task AND segment = :segment AND sequence > :after
AND time >= :from AND time <= :to ORDER BY sequence LIMIT :page
"""
_MARK = "SELECT count(*), max(id) FROM snapshots WHERE task = ?"
Merged = tuple[list[Answer], int]


class MergedStacks:
    """Of one store. One thread at a time may ask."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept = BoundedMap[Any, tuple[Any, Merged]](_KEPT)

    def ask(self, task: str, segments: Sequence[str], begin: int, end: int) -> Merged:
        """The calls of some segments, and how many are left out.

        :param begin: milliseconds since the epoch, as `end`: stacks of other times do not count
        """
        key, mark = (task, *segments, begin, end), self._store.read(_MARK, (task,))
        kept = self._kept.get(key)
        if kept is not None and kept[0] == mark:
            return kept[1]
        tree = StackTree()
        for segment in segments:
            tree.begin_segment()
            for look in self._looks({"task": task, "segment": segment, "from": begin, "to": end}):
                tree.add(look)
        merged = tree.answers()
        self._kept.put(key, (mark, merged))
        return merged

    def _looks(self, values: Mapping[str, Any]) -> Iterator[Look]:
        """The stacks of a segment, by their numbers."""
        after = -1 if self._is_counted(values) else 0
        while True:
            found = self._store.read(_STACKS, {**values, "after": after, "page": _PAGE})
            for number, time, stack in found:
                yield Look(number, time, tuple(json.loads(stack)))
            if len(found) < _PAGE:
                return
            after = found[-1][0]

    def _is_counted(self, values: Mapping[str, Any]) -> bool:
        """Whether stack number 0 is one of a run. Alone it only lists the segment, for an OAP."""
        query = "SELECT 1 FROM snapshots WHERE task = ? AND segment = ? AND sequence = 1 LIMIT 1"
        return bool(self._store.read(query, (values["task"], values["segment"])))
