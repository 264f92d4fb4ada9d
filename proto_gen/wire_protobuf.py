"""How `wire` spells a field: protobuf bytes."""

from __future__ import annotations

from collections.abc import Sequence

from emit import Spelling, labelled, spell_number, unless_rivals, wrap
from schema import Field, Kind, Message

FIXED64, FIXED32 = 1, 5  # wire types


def varint(value: int) -> bytes:
    """A tag's bytes: of up to fifteen one, else two."""
    return bytes([value]) if value < 0x80 else bytes([value & 0x7F | 0x80, value >> 7])


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
            case Kind.DOUBLE | Kind.FIXED64 | Kind.FIXED32:
                return self._fixed(one)
            case Kind.INT32 | Kind.INT64 | Kind.ENUM | Kind.BOOL:
                return spell_number(message, one, self)
        heads = f"_HEADS_{number}"
        if one.kind is Kind.BYTES:
            return Spelling(f"raw({heads}, {name})", heads, "Heads", (str(number),))
        return Spelling(self._with_head(one, heads), heads, "Heads", (str(number),))

    def _fixed(self, one: Field) -> Spelling:
        """A number of four or eight bytes; several are packed, as proto3 wants it."""
        kind = {Kind.DOUBLE: "double", Kind.FIXED64: "fixed64", Kind.FIXED32: "fixed32"}[one.kind]
        if one.repeated:
            heads = f"_HEADS_{one.number}"
            return Spelling(f"packed_{kind}({heads}, {one.name})", heads, "Heads", (str(one.number),))
        tag = varint(one.number << 3 | (FIXED32 if one.kind is Kind.FIXED32 else FIXED64))
        optional = "optional_" if one.is_optional else ""
        return Spelling(f"{optional}{kind}({tag!r}, {unless_rivals(one)})")

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


class OtlpDialect(ProtobufDialect):
    header = '''"""Protobuf bytes of what goes out by OTLP: one function per message, as in `wire`.

Attributes and values are given already encoded, see `otlp_values`.
"""

from __future__ import annotations

from collections.abc import Iterable

from swagent_proto.protobuf_fields import (
    Flag,
    Heads,
    Number,
    NumberGroups,
    Numbers,
    Texts,
    fixed32,
    fixed64,
    nested,
    nested_each,
    optional_double,
    optional_fixed64,
    packed_double,
    packed_fixed64,
    raw,
    unique_text,
)

Encoded = bytes
"""One encoded message, without a length before it."""
'''
