"""`swagent doctor`: shows the configuration, and checks whether it works.

It does what the agent would do, one step at a time: read the configuration, reach each collector, send it a heartbeat,
and ask which settings it changes at run time. If a step fails, the output contains advice. Exit status: 0 all is well,
1 some collector cannot be used, 2 the configuration is wrong.
"""

from __future__ import annotations

import argparse
import os
import socket
from collections.abc import Mapping
from importlib import metadata
from typing import Any

import anyio
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from .. import acceleration
from ..abc import Transport, addresses_of
from ..config import Config, options, origins_of
from ..config.environment import without_meaning
from ..config.options import Address, Option, Secret
from ..config.without_code import missing_without_code, read_without_code
from ..errors import AmbiguousError, ConfigError, DeliveryError, RejectedError
from ..hosting.agent_thread import loop_of
from ..instrument.configured import preview
from ..instrument.gate import version_of
from ..opentelemetry.launch import preview as preview_bridge
from ..runtime.instance import describe_instance
from ..runtime.transport_choice import find_transport
from ..runtime.transport_runner import check_runtime, transport_runner
from .neighbours import other_agents
from .remote import overridden


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    parser.add_argument("--no-network", action="store_true", help="show the configuration only")


def run(args: argparse.Namespace) -> int:
    """Examine; returns the exit status."""
    try:
        config = read_without_code()
        transport = find_transport(config)
    except ConfigError as error:
        print(f"✗ {error}")
        return 2
    print("\n".join(_configuration(config, os.environ)))
    print(f"\nRequests, logs and spans are recorded by {acceleration.describe(config.native)}.")
    print("\n".join(_libraries(config)))
    for sentence in other_agents(os.environ):
        print(f"\n! {sentence}.")
    if args.no_network:
        return 0
    backend, backend_options = loop_of(config.backend)
    print(f"\nTransport {transport.name} on {config.backend}{_versions(transport.name)}")
    is_well: bool = anyio.run(_examine_all, config, transport, backend=backend, backend_options=backend_options)
    print(
        "\nAll well."
        if is_well
        else "\nNot everything works; the agent keeps records within their bounds until it does."
    )
    return 0 if is_well else 1


def _versions(transport: str) -> str:
    """The installed versions of what a transport stands on: the packages of its extra, and what those need."""
    first = [each for each in _requirements("swagent") if each.marker is not None and _applies(each, transport)]
    below = [inner for each in first for inner in _requirements(each.name) if _applies(inner)]
    names = dict.fromkeys(canonicalize_name(each.name) for each in (*first, *below))
    found = [f"{name} {version}" for name in names if (version := version_of(name)) is not None]
    return f", by {', '.join(found)}" if found else ""


def _requirements(name: str) -> list[Requirement]:
    try:
        return [Requirement(each) for each in metadata.requires(name) or ()]
    except metadata.PackageNotFoundError:
        return []


def _applies(requirement: Requirement, extra: str = "") -> bool:
    """Whether a requirement is one of an extra; of no extra, if that is empty."""
    marker = requirement.marker
    if marker is None:
        return True
    return marker.evaluate({"extra": extra}) and (not extra or not marker.evaluate({"extra": ""}))


def _configuration(config: Config, environ: Mapping[str, str]) -> list[str]:
    """Every setting with where its value comes from."""
    origins = origins_of(environ)
    elsewhere = missing_without_code(config, environ)
    rows = [
        (name, _shown(option, getattr(config, name)), _origin(name, origins, elsewhere)) for name, option in options()
    ]
    width = max(len(name) for name, _, _ in rows)
    lines = [f"{name:<{width}}  {value}  ({origin})" for name, value, origin in rows]
    ignored = [f"{name}: {reason}" for name, reason in without_meaning(environ).items()]
    return [*lines, "", "The official agent's, without a meaning here:", *ignored] if ignored else lines


def _origin(name: str, origins: Mapping[str, str], elsewhere: Mapping[str, Any]) -> str:
    if name in origins:
        return f"from {origins[name]}"
    return "default of swagent run" if name in elsewhere else "default"


def _shown(option: Option, value: Any) -> str:
    if isinstance(value, Secret):
        return "*** (set)" if value else "(none)"
    value = option.shown(value)
    if isinstance(value, tuple):
        return ",".join(map(str, value)) or "(none)"  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return str(value) if value not in ("", None) else "(none)"


def _libraries(config: Config) -> list[str]:
    """The instrumented libraries, and those that are left out with the reason."""
    found = preview(config)
    width = max((len(each.name) for each in found), default=0)
    lines = [f"{each.name:<{width}}  {each.state.value}{': ' if each.reason else ''}{each.reason}" for each in found]
    lines = ["", "Libraries that record by themselves under `swagent run`, or with `instrument()`:", *lines]
    bridged = preview_bridge(config)
    return [*lines, "", "OpenTelemetry's instrumentations under `swagent run`:", *bridged] if bridged else lines


async def _examine_all(config: Config, transport: type[Transport]) -> bool:
    try:
        check_runtime(transport.name, transport.runtimes)
    except ConfigError as error:
        print(f"✗ {error}")
        return False
    outcomes = [await _examine(config, transport, address) for address in addresses_of(transport, config)]
    return all(outcomes)


async def _examine(config: Config, transport: type[Transport], address: Address) -> bool:
    """Reach one collector, and send one heartbeat."""
    problem, notes = await _reach(address, config.request_timeout), list[str]()
    if problem is None:
        print(f"✓ {address} is reached")
        problem, notes = await _greet(config, transport, address)
    print(f"✓ {address} took a heartbeat of {config.service_name!r}" if problem is None else f"✗ {address}: {problem}")
    for note in notes:
        print(note)
    return problem is None


async def _reach(address: Address, timeout: float) -> str | None:
    """Why no connection can be made."""
    try:
        with anyio.fail_after(timeout):
            stream = await anyio.connect_tcp(address.host, address.port)
        await stream.aclose()
    except TimeoutError:
        return f"no connection within {timeout:g} s; a firewall may drop the packets"
    except socket.gaierror as error:
        return f"the host name cannot be resolved ({error.strerror}); check SW_AGENT_COLLECTOR_BACKEND_SERVICES"
    except OSError as error:
        if isinstance(error.__cause__, socket.gaierror):
            return "the host name cannot be resolved; check SW_AGENT_COLLECTOR_BACKEND_SERVICES"
        return f"the connection is refused ({error}); is the collector running, and is this its port?"
    return None


async def _greet(config: Config, transport_class: type[Transport], address: Address) -> tuple[str | None, list[str]]:
    """Why the collector takes no heartbeat, and what it sets at run time."""
    instance = describe_instance(config)
    async with transport_runner(transport_class.runtimes) as runner:
        transport = transport_class(config, address)
        try:
            await runner(transport.keep_alive, instance)
            follows = config.get_agent_dynamic_config_interval > 0
            return None, await overridden(runner, transport, instance) if follows else []
        except DeliveryError as error:
            return _advice(error, address), []
        finally:
            with anyio.CancelScope(shield=True):
                await runner(transport.aclose)


def _advice(error: DeliveryError, address: Address) -> str:
    text = str(error)
    if "CERTIFICATE" in text.upper():
        return f"its certificate is not trusted ({text}); name its authority in SW_AGENT_SSL_TRUSTED_CA_PATH"
    if isinstance(error, RejectedError):
        if "PERMISSION_DENIED" in text or "UNAUTHENTICATED" in text or "401" in text or "403" in text:
            return f"the token is refused ({text}); set SW_AGENT_AUTHENTICATION to the collector's own"
        return f"it refuses the heartbeat ({text})"
    if isinstance(error, AmbiguousError):
        tls = "speaks TLS" if not address.tls else "does not speak TLS"
        return (f"it is reached but gives no answer ({text}); perhaps it is the port of another protocol "
                f"(gRPC 11800, HTTP 12800), or it {tls}")  # fmt: skip
    other = "does not speak TLS" if address.tls else "is the port of another protocol (gRPC 11800, HTTP 12800)"
    return f"nothing could be sent ({text}); perhaps it {other}"
