"""How `wire` spells a field: protobuf bytes."""

from __future__ import annotations

from collections.abc import Sequence

from emit import Spelling, labelled, spell_number, unless_rivals, wrap
from schema import Field, Kind, Message

FIXED64 = 1  # the wire type of doubles


class ProtobufDialect:
    header = '''"""Protobuf bytes of the messages that are recorded often: one function per message.

Parameters are in the order of the field numbers. A nested message is given already encoded, None where
it is not set; key and value pairs are given as tuples. Never waits; any thread; raises ValueError, naming
the field, for a number that does not fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from swagent_proto.protobuf_fields import (
    Flag,
    Heads,
    Number,
    NumberGroups,
    Numbers,
    Pairs,
    RepeatedTexts,
    Texts,
    double,
    nested,
    nested_each,
    unique_text,
)

Encoded = bytes
"""One encoded message, without a length before it."""
'''

    def spell(self, message: Message, one: Field) -> Spelling:
        name, number = one.name, one.number
        match one.kind:
            case Kind.TEXT if one.repeated:
                cache = f"_REPEATED_TEXTS_{number}"
                return Spelling(f"*map({cache}.__getitem__, {name})", cache, "RepeatedTexts", (str(number),))
            case Kind.TEXT:
                return Spelling(f"_TEXTS_{number}[{name}]", f"_TEXTS_{number}", "Texts", (str(number),))
            case Kind.PAIR | Kind.MAP:
                pairs = f"{name}.items()" if one.kind is Kind.MAP else name
                cache = f"_PAIRS_{number}"
                return Spelling(f"*map({cache}.__getitem__, {pairs})", cache, "Pairs", (str(number),))
            case Kind.DOUBLE:
                return Spelling(f"double({bytes([number << 3 | FIXED64])!r}, {name})")
            case Kind.INT32 | Kind.INT64 | Kind.ENUM | Kind.BOOL:
                return spell_number(message, one, self)
        heads = f"_HEADS_{number}"
        return Spelling(self._with_head(one, heads), heads, "Heads", (str(number),))

    def _with_head(self, one: Field, heads: str) -> str:
        if one.kind is Kind.UNIQUE_TEXT:
            return f"unique_text({heads}, {one.name})"
        if one.repeated:
            return f"*(nested_each({heads}, {one.name}) if {one.name} else ())"
        return f"nested({heads}, {unless_rivals(one)})"

    def number(self, message: Message, one: Field) -> str:
        if one.kind is Kind.BOOL:
            return f"Flag({one.number})"
        bits = 64 if one.kind is Kind.INT64 else 32
        return f"Number({one.number}, {labelled(message, one)}, {bits})"

    def body(self, expressions: Sequence[str]) -> list[str]:
        return wrap('return b"".join([', expressions, "])")
