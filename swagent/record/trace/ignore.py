"""Which operations are not traced: by the end of their name, or by an Ant-style path pattern."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ..bounded_cache import BoundedCache

_TOKEN = re.compile(r"/\*\*/|\*\*|\*|\?|[^*?/]+|/")
_REGEX = {"/**/": "/(?:[^/]*/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def ant_pattern(pattern: str) -> str:
    """The regular expression for an Ant path: `?` one character, `*` any within a part, `**` any parts."""
    return "".join(_REGEX.get(token) or re.escape(token) for token in _TOKEN.findall(pattern))


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
    expression = re.compile("|".join(f"(?:{ant_pattern(path)})" for path in paths), re.DOTALL) if paths else None

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
        # the names of most operations have none, which is known sooner than what was decided on them before
        return Suffixes(ends)
    return BoundedCache(decide).__getitem__
