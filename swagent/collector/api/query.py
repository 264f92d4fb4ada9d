"""The language in which traces are looked for: terms with spaces between them, all of which must hold. Pure.

`tenant=globex status>=500 dur>1s service:orders error:PaymentFailed "free text"`
"""

from __future__ import annotations

import re
from typing import NamedTuple

FACETS = ("service", "endpoint", "instance", "peer", "error")
"""The words that have a meaning before a colon. Any other word with a colon in it is text."""
DURATION = "dur"
STATUS = "status"
_MOST = 30
_MOST_STARS = 10
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_TERM = re.compile(rf'(?:[^\s"]|{_QUOTED})+')
_COMPARISON = re.compile(rf'({_QUOTED}|[^\s"=<>!/?]*)(!=|>=|<=|=|>|<)(.*)', re.DOTALL)
_FACET = re.compile(rf"({'|'.join(FACETS)}):(.*)", re.DOTALL)
_PIECE = re.compile(rf'{_QUOTED}|\*|[^"*]+')
_TIME = re.compile(r"(\d+(?:\.\d+)?)(ms|s|min|m|h)?")
_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000}
_ORDERS = (">", ">=", "<", "<=")


class Value(NamedTuple):
    """A value to look for: texts, with anything between two of them. `*` makes a gap, except in quotes."""

    texts: tuple[str, ...]

    @property
    def text(self) -> str:
        """The whole, where there is no gap."""
        return self.texts[0]

    @property
    def is_exact(self) -> bool:
        return len(self.texts) == 1

    @property
    def is_anything(self) -> bool:
        return len(self.texts) > 1 and not any(self.texts)


class Term(NamedTuple):
    """One condition.

    :ivar kind: `tag`, `dur`, `text`, or one of `FACETS`
    :ivar key: of the tag
    :ivar operator: `=`, `!=`, or one of the orders, for which `number` counts and not `value`
    """

    kind: str
    value: Value
    key: str = ""
    operator: str = "="
    number: float = 0.0


def parse(text: str) -> list[Term]:
    """The terms of a query.

    :raises ValueError: when it cannot be read; says where, and what helps
    """
    terms: list[Term] = []
    at = 0
    while True:
        at += len(text[at:]) - len(text[at:].lstrip())
        if at == len(text):
            return terms
        found = _TERM.match(text, at)
        end = found.end() if found else at
        if end < len(text) and text[end] == '"':
            raise _error(end, 'a quotation mark opens here and none closes it; write \\" for the mark itself')
        if len(terms) == _MOST:
            raise _error(at, f"there are more than {_MOST} terms; leave some out")
        terms.append(_term(text[at:end], at))
        if len(terms[-1].value.texts) > _MOST_STARS + 1:
            raise _error(at, f"a value takes at most {_MOST_STARS} stars; leave some out, or put it in quotes")
        at = end


def quote(value: str, *, always: bool = False) -> str:
    """A value as it is written in a query, in quotes where it needs them."""
    if not always and re.fullmatch(r'[^\s"*\\]+', value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _term(word: str, at: int) -> Term:
    facet = _FACET.fullmatch(word)
    if facet:
        if not facet[2]:
            raise _error(at, f"{facet[1]}: has no value; write {facet[1]}:NAME without a space")
        return Term(facet[1], _value(facet[2]))
    comparison = _COMPARISON.fullmatch(word)
    if comparison is None:
        return Term("text", Value(("".join(_value(word, stars=False).texts),)))
    name, operator, value = comparison.groups()
    key = _value(name, stars=False).text if name else ""
    if not key:
        raise _error(at, f"there is no tag before {operator}; if {word} is a text, put it in quotes")
    if not value:
        raise _error(at + len(word), f"{key}{operator} has no value; write {key}{operator}VALUE without a space")
    if name in FACETS and operator == "=":
        raise _error(at, f'for the {name} write {name}:{value}; for a tag of that name "{name}"={value}')
    if name == DURATION:
        return Term("dur", _value(value), operator=operator, number=_time(value, operator, at))
    if operator in _ORDERS:
        return Term("tag", _value(value), key, operator, _number(value, f"{key}{operator}", at))
    return Term("tag", _value(value), key, operator)


def _value(word: str, *, stars: bool = True) -> Value:
    texts = [""]
    for piece in _PIECE.findall(word):
        if piece == "*" and stars:
            texts.append("")
        elif piece.startswith('"'):
            texts[-1] += re.sub(r"\\(.)", r"\1", piece[1:-1], flags=re.DOTALL)
        else:
            texts[-1] += piece
    return Value(tuple(texts))


def _time(value: str, operator: str, at: int) -> float:
    found = _TIME.fullmatch(value)
    if found is None:
        raise _error(at, f"dur{operator} takes a time such as 250ms, 1.5s or 2min, not {value}")
    return float(found[1]) * _UNITS[found[2] or "ms"]


def _number(value: str, head: str, at: int) -> float:
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if abs(number) < float("inf"):
        return number
    if _TIME.fullmatch(value):
        order = head[len(head.rstrip("<>=")) :]
        raise _error(at, f"{head} takes a number, not {value}; for the time of a trace write {DURATION}{order}{value}")
    raise _error(at, f"{head} takes a number, not {value}; if it is a text, put it all in quotes")


def _error(at: int, text: str) -> ValueError:
    return ValueError(f"q, at character {at + 1}: {text}")
