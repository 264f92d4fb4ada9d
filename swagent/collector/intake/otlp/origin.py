"""The service and the instance of a resource; pure."""

from __future__ import annotations

from typing import Any, NamedTuple

from .values import texts_of

_UNKNOWN = "unknown_service"


class Origin(NamedTuple):
    """Where an item comes from."""

    service: str
    instance: str
    properties: tuple[tuple[str, str], ...]


def origin_of(resource: Any) -> Origin:
    """The service by its name, and the instance by the first of its id, its host with its process, and its host."""
    found = texts_of(resource.attributes)
    host, process = found.get("host.name", ""), found.get("process.pid", "")
    instance = found.get("service.instance.id") or (f"{process}@{host}" if host and process else host) or "unknown"
    return Origin(found.get("service.name") or _UNKNOWN, instance, tuple(found.items()))
