"""An attribute that slow or failed requests have and others have not: an instance, a version, a tenant, or two of them
together; pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from ..api.differences import sure_difference
from ..api.pair_names import term_of
from ..api.query import quote
from ..store.tag_text import BETWEEN, CUT, EQUALS, INSTANCE

LEAST = 5
"""Slow or failed requests below which nothing is said."""
_SHARE = 0.8  # of them that have to have it
_SURE = 0.3  # how much more frequent it has to be among them, beyond chance
_BETTER = 0.05  # how much better two attributes together have to be than one
_COVERED = 0.9  # of all requests that have to have an attribute of that name
_ALIKE = 0.95  # of the requests that have one attribute or the other have both: one of them says it
_BESIDE = 0.2  # of the others, that began while those with the attribute came: else it is a change, and no attribute
_MOST, _MOST_ALIKE = 12, 2
_INSTANCE, _HOST = "instance of", "host of"
_VERSION = re.compile(r"version|build|release|revision|commit", re.IGNORECASE)
# tags that are an effect, a measurement, or what the request did
_EFFECT = re.compile(r"(time|loop|db|cache|mq)[._]|http\.(url|params|status)|status_code$|outcome$|incomplete$"
                     r"|tasks?$|pool|url$|error|rpc\.|[\x00-\x1f]")  # fmt: skip


class Attribute(NamedTuple):
    """A name and a value; the name of an instance or a host has its service."""

    name: str
    value: str

    @property
    def text(self) -> str:
        """The attribute in a sentence."""
        if self.is_of_process:
            return f"the {self.name.partition(' ')[0]} is {self.value}"
        return f"{self.name}={self.value}"

    @property
    def term(self) -> str:
        """The term of a query that finds it."""
        if self.name.startswith(_HOST):
            return f"instance:*{quote(f'@{self.value}')}"
        name = INSTANCE if self.name.startswith(_INSTANCE) else self.name
        return term_of(f"{name}{EQUALS}{self.value}").term

    @property
    def is_of_process(self) -> bool:
        """Whether it is one of a process, and no tag."""
        return self.name.startswith((_INSTANCE, _HOST))

    @property
    def rank(self) -> tuple[int, str, str]:
        """Of several that say the same the one that says most comes first."""
        kinds = (bool(_VERSION.search(self.name)), self.name.startswith(_INSTANCE), not self.is_of_process, True)
        return kinds.index(True), self.name, self.value


@dataclass(frozen=True)
class Seen:
    """A request: when it began, and its attributes."""

    start: int
    attributes: frozenset[Attribute]


class Hot(NamedTuple):
    """Attributes that go with what is amiss.

    :ivar attributes: one, or two that it takes both
    :ivar alike: others that the same requests have
    :ivar inside: how many of the bad requests have them
    :ivar outside: how many of the good ones
    :ivar least: how much greater the first share is at least
    """

    attributes: tuple[Attribute, ...]
    alike: tuple[Attribute, ...]
    inside: int
    outside: int
    least: float


def attributes_of(segments: Iterable[tuple[str, str, str]]) -> frozenset[Attribute]:
    """The attributes of a trace.

    :param segments: of each the service, the instance, and the text of its tags
    """
    found: set[Attribute] = set()
    for service, instance, tags in segments:
        found.add(Attribute(f"{_INSTANCE} {service}", instance))
        _, at, host = instance.rpartition("@")
        if at and host:
            found.add(Attribute(f"{_HOST} {service}", host))
        for pair in tags.split(BETWEEN):
            name, equals, value = pair.partition(EQUALS)
            if equals and not value.endswith(CUT) and not _EFFECT.match(name):
                found.add(Attribute(name, value))
    return frozenset(found)


def hottest(bad: Sequence[Seen], good: Sequence[Seen], *, of_process: bool = False) -> Hot | None:
    """The attribute, or the two, by which bad requests differ most from good ones; None where none does.

    :param of_process: look only at instances, hosts and versions
    """
    if len(bad) < LEAST or len(good) < LEAST:
        return None
    members = _Members(bad, good)
    known = [each for each in members.candidates() if not of_process or each.is_of_process or each.rank[0] == 0]
    single = max((members.judge((each,)) for each in known), key=_order, default=None)
    both = [members.judge(pair) for pair in combinations(known[:_MOST], 2) if pair[0].name != pair[1].name]
    double = max(both, key=_order, default=None)
    best = double if double and single and double.least >= single.least + _BETTER else single
    if best is None or best.least < _SURE or not members.is_side_by_side(best.attributes):
        return None
    return best._replace(alike=members.alike(best.attributes, known))


def _order(hot: Hot) -> tuple[float, int, str]:
    first = hot.attributes[0].rank
    return round(hot.least, 6), -first[0], "".join(map(str, first))


class _Members:
    """Which requests have an attribute."""

    def __init__(self, bad: Sequence[Seen], good: Sequence[Seen]) -> None:
        self._bad, self._good = bad, good
        self._all = [*bad, *good]
        self._by: dict[Attribute, set[int]] = {}
        for number, seen in enumerate(self._all):
            for each in seen.attributes:
                self._by.setdefault(each, set()).add(number)

    def candidates(self) -> list[Attribute]:
        """The attributes that most bad requests have, of names that nearly all requests have with different values."""
        covered, values = self._names()
        enough = _SHARE * len(self._bad)
        found = {
            each: self.judge((each,))
            for each in self._by
            if values[each.name] > 1 and covered[each.name] and self._inside(self._by[each]) >= enough
        }
        return sorted(found, key=lambda each: (found[each].outside, each.rank))

    def _names(self) -> tuple[Mapping[str, bool], Counter[str]]:
        having: dict[str, set[int]] = {}
        values = Counter(each.name for each in self._by)
        for each, numbers in self._by.items():
            having.setdefault(each.name, set()).update(numbers)
        first = len(self._bad)
        sides = ((0, first), (first, len(self._all)))
        return {
            name: all(sum(low <= number < high for number in numbers) >= _COVERED * (high - low) for low, high in sides)
            for name, numbers in having.items()
        }, values

    def _inside(self, numbers: set[int]) -> int:
        return sum(number < len(self._bad) for number in numbers)

    def _with(self, attributes: Iterable[Attribute]) -> set[int]:
        first, *others = (self._by[each] for each in attributes)
        return first.intersection(*others)

    def judge(self, attributes: tuple[Attribute, ...]) -> Hot:
        """How much more frequent attributes are among the bad requests."""
        numbers = self._with(attributes)
        inside = self._inside(numbers)
        outside = len(numbers) - inside
        least = sure_difference(inside, len(self._bad), outside, len(self._good))
        return Hot(tuple(sorted(attributes, key=lambda each: each.rank)), (), inside, outside, least)

    def is_side_by_side(self, attributes: Iterable[Attribute]) -> bool:
        """Whether good requests without them came in the same time: before and after a change is another matter."""
        numbers = self._with(attributes)
        times = [self._all[number].start for number in numbers]
        first = len(self._bad)
        without = [seen.start for number, seen in enumerate(self._good, first) if number not in numbers]
        beside = sum(min(times) <= start <= max(times) for start in without)
        return beside >= max(_BESIDE * len(without), 1)

    def alike(self, attributes: Sequence[Attribute], known: Iterable[Attribute]) -> tuple[Attribute, ...]:
        """Other attributes that the same requests have."""
        own = self._with(attributes)
        found = [
            each
            for each in known
            if each not in attributes and len(own & self._by[each]) >= _ALIKE * len(own | self._by[each])
        ]
        return tuple(sorted(found, key=lambda each: each.rank)[:_MOST_ALIKE])
