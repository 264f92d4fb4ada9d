"""The summary of a statement, in few words and without its values: the operation and the tables, `SELECT customers`.

This is no parser: it finds the names that follow `FROM`, `JOIN` and the like, outside of literals and comments. It may
miss a table of an unusual statement. It shows no value: where the end of a literal is not certain, it finds nothing.
"""

from __future__ import annotations

import re
from functools import cache

from ....record.limits import short

# The rest of a longer statement is not looked at: it is mostly values.
LOOKED_AT = 2000
_MOST_TABLES = 8
_MAX_LENGTH = 150

_NAME = r'(?:[^\W\d][\w$]*|"[^"]+"|`[^`]+`|\[[^\]]+\])'
_PATH = rf"{_NAME}(?:\s*\.\s*{_NAME})*"
# Text of no interest is taken in one piece where it can be. Literals and comments may have no end: the statement may be
# cut.
_TOKENS = rf"""
      (?:[\s\d,;=<>*+?!.]|%s)+ | [:@]\w+
    | '(?:[^']|'')*(?:'|$) | --[^\n]* | /\*.*?(?:\*/|$) | (?P<quote>\$\w*\$).*?(?:(?P=quote)|$)
    | \b(?:
        (?:extract|trim|substring|overlay)\s*\([^()]*\)
      | distinct\s+from\b | for\s+(?:no\s+key\s+)?update\b | do\s+update\b
      | (?:from|join|using)\s+(?:only\s+|lateral\s+)?(?P<read>{_PATH})(?P<call>\s*\()?
      | (?:into|update|table|copy|call|exec|execute|truncate)\s+(?:only\s+|ignore\s+)?(?:table\s+)?
        (?:if\s+(?:not\s+)?exists\s+)?(?P<written>{_PATH})
      | (?P<verb>select|insert|update|delete|merge|replace)\b
      | (?P<values>values)\b
      )
    | (?P<bracket>[()])
    | "[^"]*(?:"|$) | `[^`]*(?:`|$)
    | \w[\w$]*
    """
_FLAGS = re.IGNORECASE | re.VERBOSE | re.DOTALL
# The names that a statement gives to its own expressions are no tables.
_EXPRESSION = rf"(?P<expression>{_NAME})\s*(?:\([^()]*\)\s*)?\bas\s+(?:not\s+)?(?:materialized\s+)?\("
_NO_TABLES = frozenset(("set", "select", "values", "stdin", "stdout", "dual", "only", "lateral", "table", "from"))
_QUOTES = str.maketrans("", "", '"`[]')


# Compiled with the first statement: that takes longer than all else of the import, and many a process sends none.
@cache
def _uncertain() -> re.Pattern[str]:
    """Syntax that databases read in different ways: with it a literal may have another end, and its inside be taken for
    a name."""
    return re.compile(r"[\\#] | --(?!\s|$) | /\*(?:(?!\*/).)*/\* | \bq'", _FLAGS)


@cache
def _token(is_with: bool) -> re.Pattern[str]:
    """One token.

    :param is_with: whether the statement may name expressions of its own
    """
    return re.compile(f"{_EXPRESSION} | {_TOKENS}" if is_with else _TOKENS, _FLAGS)


@cache
def _another() -> re.Pattern[str]:
    """The table behind a comma."""
    return re.compile(rf"(?:\s+(?:as\s+)?{_NAME})?\s*,\s*(?P<read>{_PATH})(?!\s*\()", re.IGNORECASE)


def summary_of(statement: str, keyword: str) -> str:
    """The operation and the tables of a statement; empty where it says no more than its first word.

    :param statement: its beginning, of `LOOKED_AT` characters at most
    :param keyword: its first word, in upper case
    """
    if not keyword or _uncertain().search(statement) is not None:
        return ""
    operation, tables = _read(statement, keyword)
    if not tables and operation == keyword:
        return ""
    return short(" ".join((operation, *list(tables)[:_MOST_TABLES])), _MAX_LENGTH)


def _read(statement: str, keyword: str) -> tuple[str, dict[str, None]]:
    """The operation, and the tables in the order of their first mention."""
    tables: dict[str, None] = {}
    expressions: set[str] = set()
    is_with = keyword == "WITH"
    operation, depth, place = "" if is_with else keyword, 0, 0
    for token in _token(is_with).finditer(statement):
        kind = token.lastgroup
        if kind is None or token.start() < place:
            continue
        if kind == "bracket":
            depth += 1 if token["bracket"] == "(" else -1
        elif kind == "expression":
            depth += 1
            expressions.add(_plain(token["expression"]))
        elif kind == "read":
            place = _add_all(tables, statement, token)
        elif kind == "call":
            depth += 1
        elif kind == "written":
            is_update = not depth and token[0][:6].upper() == "UPDATE"
            operation = operation or ("UPDATE" if is_update else "")
            _add(tables, token["written"])
        elif kind == "verb" and not depth:
            operation = operation or token["verb"].upper()
        elif kind == "values" and not depth:
            break
    return operation or keyword, {name: None for name in tables if name not in expressions}


def _add_all(tables: dict[str, None], statement: str, first: re.Match[str]) -> int:
    """Add a table, and those that follow it behind commas.

    :returns: the place behind the last one
    """
    found: re.Match[str] | None = first
    place = 0
    while found is not None:
        _add(tables, found["read"])
        place = found.end()
        found = _another().match(statement, place)
    return place


def _add(tables: dict[str, None], path: str) -> None:
    name = _plain(path)
    if name.lower() not in _NO_TABLES:
        tables[name] = None


def _plain(path: str) -> str:
    """A name without its quotation marks and spaces."""
    return "".join(path.translate(_QUOTES).split())
