"""What decides what goes over the wire, read from descriptors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

Facts = dict[str, tuple[Any, ...]]


def facts_of(files: Iterable[Any]) -> Facts:
    """Everything that decides what goes over the wire, one line each, by its full name."""
    return dict(fact for file in files for fact in file_facts(file))


def file_facts(file: Any) -> Iterator[tuple[str, tuple[Any, ...]]]:
    yield f"file {file.name}", (file.syntax, file.package)
    for message in file.message_type:
        yield from message_facts(message, f"{file.name} {message.name}")
    for one in file.enum_type:
        yield from enum_facts(one, f"{file.name} {one.name}")
    for service in file.service:
        yield f"{file.name} {service.name}", ("service",)
        for rpc in service.method:
            streams = (rpc.client_streaming, rpc.server_streaming)
            yield f"{file.name} {service.name}/{rpc.name}", (rpc.input_type, rpc.output_type, *streams)


def message_facts(message: Any, name: str) -> Iterator[tuple[str, tuple[Any, ...]]]:
    yield name, ("message", message.options.map_entry)
    for field in message.field:
        oneof = message.oneof_decl[field.oneof_index].name if field.HasField("oneof_index") else None
        kind = (field.type, field.type_name, field.label, field.proto3_optional, oneof)
        # generated modules drop a JSON name that is the default
        in_json = field.json_name or re.sub("_(.)", lambda found: found[1].upper(), field.name)
        yield f"{name}.{field.number}", (field.name, in_json, *kind)
    for nested in message.nested_type:
        yield from message_facts(nested, f"{name}.{nested.name}")
    for one in message.enum_type:
        yield from enum_facts(one, f"{name}.{one.name}")


def enum_facts(one: Any, name: str) -> Iterator[tuple[str, tuple[Any, ...]]]:
    yield name, ("enum",)
    for value in one.value:
        yield f"{name}.{value.name}", (value.number,)
