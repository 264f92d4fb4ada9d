"""The protocol's messages, read by protobuf's own runtime: strict, and fast where it is compiled.

The descriptors go into a separate pool, so that nothing clashes with another copy of the protocol in the process, such
as the official agent's. This module alone in this package uses protobuf; messages are `Any` elsewhere.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingModuleSource=false

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.message import DecodeError

from swagent_proto.descriptors import FILES

from .wire_check import check

_PACKAGE = "skywalking.v3."
# How deep a message may nest, in JSON too; the protocol needs five levels.
_DEPTH = 20
# The field of the spans in a segment: number 3, of a length.
_SPAN_KEY = 3 << 3 | 2


def pool_of(files: bytes) -> Any:
    """A pool with the descriptors of an encoded set of files, and with no others."""
    pool: Any = descriptor_pool.DescriptorPool()
    described: Any = descriptor_pb2.FileDescriptorSet.FromString(files)
    waiting = {file.name: file for file in described.file}

    def add(name: str) -> None:
        file = waiting.pop(name, None)
        if file is not None:
            for needed in file.dependency:
                add(needed)
            pool.AddSerializedFile(file.SerializeToString())

    for name in tuple(waiting):
        add(name)
    return pool


_POOL = pool_of(FILES)


@cache
def message_class(name: str) -> Any:
    """The class of a message, by its name without the package."""
    return message_factory.GetMessageClass(described(name))


@cache
def enum_names(name: str) -> Mapping[int, str]:
    """The names of an enum's numbers."""
    names = {value.number: value.name for value in _POOL.FindEnumTypeByName(_PACKAGE + name).values}
    return {**_NEWER.get(name, {}), **names}


_NEWER = {"SpanLayer": {7: "GenAI"}}
"""Since SkyWalking 10.4, and not in the published protocol: it travels by its number, also in JSON, where an earlier
one does not know the name."""


@cache
def enum_numbers(name: str) -> Mapping[str, int]:
    """The numbers of an enum's names."""
    return {text: number for number, text in enum_names(name).items()}


def service(name: str) -> Any:
    """The description of a service, by its name without the package."""
    return _POOL.FindServiceByName(_PACKAGE + name)


def described(name: str) -> Any:
    """The description of a message, by its name without the package."""
    return _POOL.FindMessageTypeByName(_PACKAGE + name)


@contextmanager
def malformed(name: str) -> Generator[None, None, None]:
    """Say of which kind the message is that is not well-formed."""
    try:
        yield
    except ValueError as error:
        words = f"malformed {name}: "
        raise ValueError(str(error) if str(error).startswith(words) else words + str(error)) from error


def parse(name: str, data: bytes) -> Any:
    """A message from its bytes.

    :raises ValueError: when they are not a well-formed message of this kind; says what it is of
    """
    kind = message_class(name)
    try:
        message = kind.FromString(data)
    except DecodeError as error:
        try:
            check(data, kind.DESCRIPTOR)  # says where
        except ValueError as better:
            raise ValueError(f"malformed {name}: {better}") from error
        raise ValueError(f"malformed {name}: {error}") from error
    size = message.ByteSize()
    message.DiscardUnknownFields()
    if message.ByteSize() != size:  # a field of another wire type passes for an unknown one: look closer
        try:
            check(data, kind.DESCRIPTOR)
        except ValueError as error:
            raise ValueError(f"malformed {name}: {error}") from error
    return message


def encode_json(name: str, value: object) -> bytes:
    """The bytes of the same message as that of `parse_json`."""
    data: bytes = parse_json(name, value).SerializeToString()
    return data


def parse_json(name: str, value: object) -> Any:
    """A message from what a JSON text holds, by the protocol's JSON names; unknown fields are ignored.

    :raises ValueError: when it is not a message of this kind; says what it is of
    """
    if not isinstance(value, dict):
        raise ValueError(f"malformed {name}: a JSON object is needed, not {type(value).__name__}")
    try:
        message = json_format.ParseDict(
            value, message_class(name)(), ignore_unknown_fields=True, max_recursion_depth=_DEPTH
        )
        message.SerializeToString()
    except (json_format.ParseError, ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"malformed {name}: {error}") from error
    except SystemError as error:  # protobuf's answer to half a character in a name
        raise ValueError(f"malformed {name}: a name in it is no text: {error.__cause__}") from error
    return message


def field_of_span(span: bytes) -> bytes:
    """A span's bytes as a field of the segment that it belongs to."""
    size, length = len(span), bytearray([_SPAN_KEY])
    while size > 0x7F:
        length.append(size & 0x7F | 0x80)
        size >>= 7
    length.append(size)
    return bytes(length) + span
