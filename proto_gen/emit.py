"""Writes an encoder module: one function per message, the same functions whatever the codec.

A dialect knows how its codec spells one field; everything else is common and is here, so that the
two modules cannot differ in names or parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from schema import Field, Kind, Message

LINE_LENGTH = 110

PARAMETER_TYPES = {
    Kind.TEXT: "str",
    Kind.UNIQUE_TEXT: "str",
    Kind.PAIR: "tuple[str, str]",
    Kind.MAP: "Mapping[str, str]",
    Kind.MESSAGE: "Encoded",
    Kind.INT32: "int",
    Kind.INT64: "int",
    Kind.ENUM: "int",
    Kind.BOOL: "bool",
    Kind.DOUBLE: "float",
    Kind.FIXED64: "int",
    Kind.FIXED32: "int",
    Kind.BYTES: "bytes",
}


@dataclass(frozen=True)
class Spelling:
    """The expression that encodes a field, and the cache which that looks into."""

    expression: str
    cache: str = ""
    cache_class: str = ""
    arguments: tuple[str, ...] = ()


class Dialect(Protocol):
    header: str
    """The module's docstring, imports and `Encoded`."""

    def spell(self, message: Message, one: Field) -> Spelling: ...

    def number(self, message: Message, one: Field) -> str:
        """The expression that makes the encoder of a number, enum or bool, for the caches of these to look behind."""
        ...

    def body(self, expressions: Sequence[str]) -> list[str]: ...


def render(messages: Sequence[Message], dialect: Dialect, banner: str) -> str:
    caches: dict[str, list[str]] = {}
    functions: list[str] = []
    for message in messages:
        spellings = [spell_run(message, run, dialect) for run in message.runs()]
        for one in spellings:
            if one.cache:
                caches[one.cache] = wrap(f"{one.cache} = {one.cache_class}(", one.arguments, ")")
        functions.append(render_function(message, dialect.body([one.expression for one in spellings])))
    declarations = [line for lines in caches.values() for line in lines]
    return "\n".join([banner.rstrip("\n"), dialect.header, *declarations, "", "", "\n\n\n".join(functions), ""])


def spell_run(message: Message, run: Sequence[Field], dialect: Dialect) -> Spelling:
    if len(run) == 1:
        return dialect.spell(message, run[0])
    cache = cache_name(message, run)
    arguments = tuple(dialect.number(message, one) for one in run)
    return Spelling(f"{cache}[{', '.join(one.name for one in run)}]", cache, "NumberGroups", arguments)


def spell_number(message: Message, one: Field, dialect: Dialect) -> Spelling:
    cache = cache_name(message, [one])
    return Spelling(f"{cache}[{one.name}]", cache, "Numbers", (dialect.number(message, one),))


def render_function(message: Message, body: Sequence[str]) -> str:
    parameters = [f"{one.name}: {parameter_type(one)}" for one in message.fields]
    signature = wrap(f"def {message.function}(", parameters, ") -> Encoded:")
    return "\n".join([*signature, *(f"    {line}" for line in body)])


def parameter_type(one: Field) -> str:
    name = PARAMETER_TYPES[one.kind]
    if one.repeated and one.kind is not Kind.MAP:
        return f"Iterable[{name}]"
    return f"{name} | None" if one.kind is Kind.MESSAGE or one.is_optional else name


def wrap(start: str, items: Sequence[str], end: str) -> list[str]:
    """One line where it fits, else a line an item."""
    line = f"{start}{', '.join(items)}{end}"
    if len(line) + 4 <= LINE_LENGTH:  # it may be in a function's body
        return [line]
    return [start, *(f"    {item}," for item in items), end]


def unless_rivals(one: Field) -> str:
    """Of a oneof the first member that is set counts, in both codecs."""
    if not one.rivals:
        return one.name
    return f"{one.name} if {' and '.join(f'{rival} is None' for rival in one.rivals)} else None"


def labelled(message: Message, one: Field) -> str:
    """How errors name a field."""
    return f'"{message.name}.{one.name}"'


def cache_name(message: Message, run: Sequence[Field]) -> str:
    numbers = "_".join(str(number) for number in sorted({run[0].number, run[-1].number}))
    return f"_{message.function.upper()}_{numbers}"
