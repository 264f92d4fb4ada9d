"""The resource of OTLP: the process that recorded, by OpenTelemetry's semantic conventions. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version

from swagent_proto import otlp_wire
from swagent_proto.otlp_values import attribute
from swagent_proto.protobuf_fields import Heads, nested_each

_HEADS = Heads(1)
SCHEMA = "https://opentelemetry.io/schemas/1.37.0"
NAME = "swagent"
Origin = tuple[str, str]
"""A service and its instance, as SkyWalking names them: `service|namespace` where there is a namespace."""

# The agent's properties of an instance, and the attributes that say the same; None: said already.
_PROPERTIES: Mapping[str, str | None] = {
    "language": None,
    "namespace": None,
    "OS Name": "os.type",
    "Process No.": "process.pid",
    "hostname": "host.name",
    "ipv4": "host.ip",
    "python_implementation": "process.runtime.name",
    "python_version": "process.runtime.version",
}
_LOWER = frozenset({"os.type", "process.runtime.name"})


def own_version() -> str:
    """The version of the agent; empty where it runs without its distribution."""
    try:
        return version("swagent")
    except PackageNotFoundError:
        return ""


def resource(origin: Origin, properties: Iterable[tuple[str, str]]) -> bytes:
    """An encoded Resource.

    :param properties: what was reported of the instance
    """
    name, _, namespace = origin[0].partition("|")
    found = {"service.name": name, "service.instance.id": origin[1]}
    if namespace:
        found["service.namespace"] = namespace
    found |= {"telemetry.sdk.name": NAME, "telemetry.sdk.language": "python", "telemetry.sdk.version": own_version()}
    for key, value in properties:
        known = _PROPERTIES.get(key, key)
        if known is not None:
            found[known] = value.lower() if known in _LOWER else value
    return otlp_wire.resource([_attribute(key, value) for key, value in found.items()], 0)


def _attribute(key: str, value: str) -> bytes:
    return attribute(key, int(value) if key == "process.pid" and value.isdecimal() else value)


def scope() -> bytes:
    """The library that recorded: the agent itself."""
    return otlp_wire.instrumentation_scope(NAME, own_version(), [], 0)


def joined(messages: Sequence[bytes]) -> bytes:
    """A message whose field 1 is repeated, such as a request to export."""
    return b"".join(nested_each(_HEADS, messages))
