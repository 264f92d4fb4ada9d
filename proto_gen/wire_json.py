"""How `wire_json` spells a field: JSON text."""

from __future__ import annotations

from collections.abc import Sequence

from emit import Spelling, labelled, spell_number, unless_rivals, wrap
from schema import Field, Kind, Message


class JsonDialect:
    header = '''"""JSON text of the messages that are recorded often: `wire`, function by function.

A nested message is given already encoded, None where it is not set; key and value pairs are given as
tuples. Never waits; any thread; raises ValueError, naming the field, for a number that does not fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from swagent_proto.json_fields import (
    Flag,
    Number,
    NumberGroups,
    Numbers,
    Pairs,
    RepeatedTexts,
    Texts,
    double,
    nested,
    string_map,
    unique_text,
)

Encoded = str
"""One JSON object."""
'''

    def spell(self, message: Message, one: Field) -> Spelling:
        if one.repeated and one.kind is not Kind.MAP:
            return self._array(one)
        name, start = one.name, start_of(one)
        match one.kind:
            case Kind.TEXT:
                cache = f"_TEXTS_{name.upper()}"
                return Spelling(f"{cache}[{name}]", cache, "Texts", (start,))
            case Kind.UNIQUE_TEXT:
                return Spelling(f"unique_text({start}, {name})")
            case Kind.MAP:
                return Spelling(f"string_map({start}, {name})")
            case Kind.DOUBLE:
                return Spelling(f"double({start}, {name})")
            case Kind.MESSAGE:
                return Spelling(f"nested({start}, {unless_rivals(one)})")
        return spell_number(message, one, self)

    def _array(self, one: Field) -> Spelling:
        cache = {Kind.TEXT: "_REPEATED_TEXTS", Kind.PAIR: "_PAIRS"}.get(one.kind, "")
        cache_class = {Kind.TEXT: "RepeatedTexts", Kind.PAIR: "Pairs"}.get(one.kind, "")
        items = f"map({cache}.__getitem__, {one.name})" if cache else one.name
        # A join and two sums are quicker than a call; an array without elements is the default.
        start = f"'\"{one.json_name}\":['"
        return Spelling(f'{start} + ",".join({items}) + "]," if {one.name} else ""', cache, cache_class)

    def number(self, message: Message, one: Field) -> str:
        if one.kind is Kind.BOOL:
            return f"Flag({start_of(one)})"
        bits = 64 if one.kind is Kind.INT64 else 32
        names = ", ".join(f'{number}: "{name}"' for number, name in one.enum_names.items())
        names = f", {{{names}}}" if names else ""
        return f"Number({start_of(one)}, {labelled(message, one)}, {bits}{names})"

    def body(self, expressions: Sequence[str]) -> list[str]:
        return [*wrap('fields = "".join([', expressions, "])"), 'return "{" + fields[:-1] + "}"']


def start_of(one: Field) -> str:
    return f"'\"{one.json_name}\":'"
