"""Which operations are not traced: by the end of their name, or by an Ant-style path pattern."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ..bounded_cache import BoundedCache

_CROSSING = re.compile(r"(/\*\*/|\*\*)")
_PART, _PARTS, _ANYTHING = "[^/]*", "(?:[^/]*/)*", ".*"


def ant_pattern(pattern: str, group: str = "part") -> str:
    """The regular expression for an Ant path: `?` one character, `*` any within a part, `**` any parts.

    A wildcard ends at the first place where the text between it and the next wildcard matches. No later place is tried:
    the next wildcard can take everything in between. So a name that does not match takes time in proportion to its
    length; where `*` is behind `**` in one part, as in `**a*b`, to the square of it.

    :param group: what the names of the expression's groups begin with
    """
    first, *rest = _CROSSING.split(pattern)
    atoms = _Atoms(group)
    expression = atoms.chunk(first + "/" * (rest[:1] == ["/**/"]), is_last=not rest)
    for place in range(0, len(rest), 2):
        kind, chunk, following = rest[place], rest[place + 1], rest[place + 2 : place + 3]
        wildcard = _PARTS if kind == "/**/" else _ANYTHING
        is_last = not following
        inside = atoms.chunk(chunk + "/" * (following == ["/**/"]), is_last=is_last)
        expression += wildcard + inside if is_last else atoms.atom(f"{wildcard}?{inside}")
    return expression


class _Atoms:
    """Writes the parts of one expression."""

    def __init__(self, group: str) -> None:
        self._group = group
        self._count = 0

    def atom(self, expression: str) -> str:
        """The expression, matched once and for all. Python has a form of its own for it since 3.11 alone."""
        self._count += 1
        name = f"{self._group}_{self._count}"
        return f"(?=(?P<{name}>{expression}))(?P={name})"

    def chunk(self, text: str, *, is_last: bool) -> str:
        """The text between two wildcards that cross parts.

        :param is_last: whether the name has to end with it
        """
        first, *others = text.split("*")
        expression = _plain(first)
        for place, each in enumerate(others, 1):
            if is_last and place == len(others):
                expression += _PART + _plain(each)
            else:
                expression += self.atom(f"{_PART}?{_plain(each)}")
        return expression


def _plain(text: str) -> str:
    return "".join("[^/]" if each == "?" else re.escape(each) for each in text)


class Suffixes:
    """Whether an operation's name has one of some endings, each of which has a dot."""

    def __init__(self, ends: tuple[str, ...]) -> None:
        self._ends = ends

    def __call__(self, name: str) -> bool:
        return "." in name and name.lower().endswith(self._ends)


def compile_ignored(
    suffixes: Sequence[str], paths: Sequence[str], methods: Sequence[str] = ()
) -> Callable[[str], bool]:
    """Build the question `is this operation ignored?`.

    A name of the form `METHOD:/path` is asked for its path as well. Answers are remembered for a bounded number of
    names, since an application has few endpoints and asks at every request.

    :param methods: of requests that came in, in upper case
    """
    ends = tuple(suffix.lower() for suffix in suffixes)
    # DOTALL: a path may hold an encoded line break, and must not escape its pattern by that
    alternatives = "|".join(f"(?:{ant_pattern(path, f'part_{place}')})" for place, path in enumerate(paths))
    expression = re.compile(alternatives, re.DOTALL) if paths else None

    has_dots = all("." in end for end in ends)
    ignored_methods = frozenset(methods)

    def decide(name: str) -> bool:
        method, _, path = name.partition(":")
        path = path or name
        if method in ignored_methods:
            return True
        if ends and name.lower().endswith(ends):
            return True
        return expression is not None and (expression.fullmatch(path) or expression.fullmatch(name)) is not None

    if expression is None and has_dots and not ignored_methods:
        # most names have no such ending, and this check is quicker than a look for a remembered answer
        return Suffixes(ends)
    return BoundedCache(decide).__getitem__
