"""The encoders against protobuf's own runtime and against betterproto, over arbitrary records.

A record is drawn from the message's descriptor, so that a new field is tested as soon as it exists.
"""

from __future__ import annotations

import inspect
import json
import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import pytest
from google.protobuf import json_format  # type: ignore[import-untyped, unused-ignore]
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kit.unsafe_text import is_unsafe
from swagent_proto import messages, wire, wire_json
from swagent_proto import text as proto_text

MessageClass = Callable[[str], Any]
Scalars = dict[int, st.SearchStrategy[Any]]

ROOTS = (
    *("SegmentObject", "SegmentCollection", "LogData", "MeterDataCollection", "InstanceProperties"),
    *("InstancePingPkg", "ThreadSnapshot", "Event", "ProfileTaskCommandQuery", "ProfileTaskFinishReport"),
    "ConfigurationSyncRequest",
)
"""The messages that are sent: all others are reached through these."""

quickly = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), database=None)

NASTY = st.sampled_from(
    ["\0", "\ud800", "\udfff\ud800", "a\x1b[31m", "\x85", "\u202eabc", "\r\n\t", '"\\/', "\xa0", "é" * 90]
)
TEXTS = st.one_of(NASTY, st.text(st.characters(), max_size=12), st.text(st.characters(), min_size=100, max_size=200))
INT32 = st.one_of(st.sampled_from([0, 1, -1, 127, 128, 2**31 - 1, -(2**31)]), st.integers(-(2**31), 2**31 - 1))
INT64 = st.one_of(st.sampled_from([0, 1, -1, 2**63 - 1, -(2**63)]), st.integers(-(2**63), 2**63 - 1))
SCALARS: Scalars = {
    # one NaN of the many: JSON has a single one
    1: st.floats(allow_nan=False) | st.just(math.nan),
    3: INT64,
    5: INT32,
    8: st.booleans(),
    9: TEXTS,
    14: st.one_of(st.integers(0, 7), INT32),  # enums are open
}
NO_NEGATIVE_ENUMS = {**SCALARS, 14: st.integers(0, 7) | st.integers(0, 2**31 - 1)}
"""For betterproto, which reads a negative enum as a huge positive one, its own included."""


@dataclass
class Record:
    """A message's name, and its fields that are set, by their names in the .proto file."""

    name: str
    values: dict[str, Any] = field(default_factory=dict)


def snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def function_of(codec: ModuleType, message: str) -> Callable[..., Any]:
    spelled = {"JSONLog": "json_log", "YAMLLog": "yaml_log"}.get(message, snake(message).lstrip("_"))
    function: Callable[..., Any] = getattr(codec, spelled)
    return function


def is_map(one: Any) -> bool:
    return bool(one.message_type is not None and one.message_type.GetOptions().map_entry)


@st.composite
def records(draw: st.DrawFn, descriptor: Any, scalars: Scalars = SCALARS) -> Record:
    record = Record(descriptor.name)
    chosen = {oneof: draw(st.sampled_from([None, *oneof.fields])) for oneof in descriptor.oneofs}
    for one in descriptor.fields:
        if one.containing_oneof is None or chosen[one.containing_oneof] == one:
            value = draw(values(one, scalars))
            if value is not None:
                record.values[one.name] = value
    return record


def values(one: Any, scalars: Scalars) -> st.SearchStrategy[Any]:
    if is_map(one):
        return st.dictionaries(TEXTS, TEXTS, max_size=3)
    if one.message_type is None:
        return st.lists(scalars[one.type], max_size=3) if one.is_repeated else scalars[one.type]
    nested = records(one.message_type, scalars)
    return st.lists(nested, max_size=2) if one.is_repeated else st.none() | nested


def clean(value: str) -> str:
    """A character that must not leave becomes U+FFFD."""
    return "".join("\ufffd" if is_unsafe(letter) else letter for letter in value)


def encode(codec: ModuleType, record: Record, descriptor: Any) -> Any:
    return function_of(codec, record.name)(*(argument(codec, record, one) for one in descriptor.fields))


def argument(codec: ModuleType, record: Record, one: Any) -> Any:
    value = record.values.get(one.name)
    if one.message_type is None or is_map(one):
        return value
    if one.message_type.name == "KeyStringValuePair":
        return [(pair.values["key"], pair.values["value"]) for pair in value or []]
    if one.is_repeated:
        return [encode(codec, nested, one.message_type) for nested in value or []]
    return None if value is None else encode(codec, value, one.message_type)


def cleaned(value: Any, make: Callable[[Record], Any]) -> Any:
    match value:
        case str():
            return clean(value)
        case Record():
            return make(value)
        case list():
            return [cleaned(item, make) for item in value]
        case dict():
            return {clean(key): clean(item) for key, item in value.items()}
    return value


def as_protobuf(record: Record, classes: MessageClass) -> Any:
    """The record as protobuf's own runtime holds it."""
    make: Callable[[Record], Any] = lambda nested: as_protobuf(nested, classes)  # noqa: E731
    return classes(record.name)(**{name: cleaned(value, make) for name, value in record.values.items()})


def as_betterproto(record: Record) -> Any:
    name = {"JSONLog": "JsonLog", "YAMLLog": "YamlLog"}.get(record.name, record.name)
    arguments = {snake(one): cleaned(value, as_betterproto) for one, value in record.values.items()}
    return getattr(messages, name)(**arguments)


def canonical(message: Any) -> bytes:
    # Messages are compared so, for NaN is not equal to itself.
    result: bytes = message.SerializeToString(deterministic=True)
    return result


@pytest.mark.gate
@pytest.mark.parametrize("root", ROOTS)
@given(data=st.data())
@quickly
def test_protobuf_reads_what_was_recorded(root: str, data: st.DataObject, our_class: MessageClass) -> None:
    made = our_class(root)
    record = data.draw(records(made.DESCRIPTOR))
    encoded = encode(wire, record, made.DESCRIPTOR)
    expected = canonical(as_protobuf(record, our_class))
    assert canonical(made.FromString(encoded)) == expected
    if root != "Event":  # a map has no order
        assert encoded == expected


@pytest.mark.gate
@pytest.mark.parametrize("root", ROOTS)
@given(data=st.data())
@quickly
def test_betterproto_reads_what_was_recorded(root: str, data: st.DataObject, our_class: MessageClass) -> None:
    made = our_class(root)
    record = data.draw(records(made.DESCRIPTOR, NO_NEGATIVE_ENUMS))
    encoded = encode(wire, record, made.DESCRIPTOR)
    expected = as_betterproto(record)
    assert type(expected)().parse(encoded) == expected


@pytest.mark.gate
@pytest.mark.parametrize("root", ROOTS)
@given(data=st.data())
@quickly
def test_json_reads_what_was_recorded(root: str, data: st.DataObject, our_class: MessageClass) -> None:
    made = our_class(root)
    record = data.draw(records(made.DESCRIPTOR))
    encoded = encode(wire_json, record, made.DESCRIPTOR)
    assert encoded.isascii()
    expected = as_protobuf(record, our_class)
    assert canonical(json_format.Parse(encoded, made())) == canonical(expected)
    assert json.loads(encoded) == json_format.MessageToDict(expected)


def public_functions(codec: ModuleType) -> dict[str, inspect.Signature]:
    functions = inspect.getmembers(codec, inspect.isfunction)
    return {name: inspect.signature(one) for name, one in functions if one.__module__ == codec.__name__}


def test_both_codecs_have_the_same_functions() -> None:
    assert len(public_functions(wire)) == 28
    assert public_functions(wire) == public_functions(wire_json)


def reached(descriptor: Any) -> Iterable[Any]:
    yield descriptor
    for one in descriptor.fields:
        if one.message_type is not None and not is_map(one):
            yield from reached(one.message_type)


def test_parameters_are_in_the_order_of_the_numbers(our_class: MessageClass) -> None:
    found = {one.name: one for root in ROOTS for one in reached(our_class(root).DESCRIPTOR)}
    assert len(found) == len(public_functions(wire))
    for name, descriptor in found.items():
        parameters = list(inspect.signature(function_of(wire, name)).parameters)
        assert parameters == [snake(one.name) for one in sorted(descriptor.fields, key=lambda one: one.number)]


@pytest.mark.parametrize("codec", [wire, wire_json], ids=lambda codec: str(codec.__name__))
@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_number_that_does_not_fit_is_refused_by_name(
    codec: ModuleType, bits: int, sign: int, our_class: MessageClass
) -> None:
    number = 2 ** (bits - 1) if sign > 0 else -(2 ** (bits - 1)) - 1
    types = {32: {5, 14}, 64: {3}}[bits]
    tried = 0
    for descriptor in {one.name: one for root in ROOTS for one in reached(our_class(root).DESCRIPTOR)}.values():
        for one in descriptor.fields:
            if one.type in types:
                record = Record(descriptor.name, {each.name: default(each) for each in descriptor.fields})
                record.values[one.name] = number
                with pytest.raises(ValueError, match=rf"^{descriptor.name}\.{snake(one.name)}: .* {bits} bits$"):
                    encode(codec, record, descriptor)
                tried += 1
    assert tried >= 8


def default(one: Any) -> Any:
    if is_map(one):
        return {}
    if one.is_repeated:
        return []
    return None if one.message_type is not None else one.default_value


def test_minus_one_takes_ten_bytes() -> None:
    assert wire.trace_context("", "", -1) == b"\x18" + b"\xff" * 9 + b"\x01"


def test_an_empty_message_is_set_and_none_is_not() -> None:
    assert wire.thread_snapshot("", "", 0, 0, None) == b""
    assert wire.thread_snapshot("", "", 0, 0, wire.thread_stack([])) == b"\x2a\x00"
    assert wire_json.thread_snapshot("", "", 0, 0, None) == "{}"
    assert wire_json.thread_snapshot("", "", 0, 0, wire_json.thread_stack([])) == '{"stack":{}}'


def test_the_first_member_of_a_oneof_counts() -> None:
    text, other = wire.text_log("x"), wire.json_log("y")
    assert wire.log_data_body("", text, other, other) == wire.log_data_body("", text, None, None)
    assert wire_json.log_data_body("", "{}", "{}", "{}") == '{"text":{}}'


@pytest.mark.gate
def test_every_character_leaves_or_is_replaced_by_the_one_rule() -> None:
    for letter in map(chr, range(sys.maxunicode + 1)):
        assert (proto_text.clean(letter) == letter) is not is_unsafe(letter), hex(ord(letter))


def test_unsafe_text_never_leaves() -> None:
    evil = "ok\x1b[2J\x00\x7f\x9b\u202e\u2066\u200f\ud83d"
    assert wire.text_log(evil)[2:].decode() == "ok\ufffd[2J" + "\ufffd" * 7
    stack = 'File "a.py"\n\tline\r\n'
    assert wire.text_log(stack)[2:].decode() == stack
