"""The protocols that the author of a transport implements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

from .config import Config
from .config.options import Address as Address
from .config.options import parse_address as parse_address
from .signals import Signal

Codec = Literal["protobuf", "json"]
Runtime = Literal["asyncio", "trio"]


@dataclass(frozen=True)
class Command:
    """A request of a collector to the agent, as the collector sent it: nothing of it is checked."""

    name: str
    arguments: Mapping[str, str]


@dataclass(frozen=True)
class Instance:
    """The instance that reports: its service, its name, and what is known of it."""

    service: str
    name: str
    properties: Sequence[tuple[str, str]] = ()


class Transport(Protocol):
    """A client of one collector. Used by one event loop; several sends may be under way at the same time.

    Every method may be cancelled at any time. The exception that a method raises is its verdict, see `swagent.errors`:
    RetryableError, AmbiguousError or RejectedError, nothing else. `swagent.testing.check_transport` proves it.
    """

    name: ClassVar[str]
    codec: ClassVar[Codec]
    """Which bytes `send` gets: finished records are encoded once, for the transport at hand."""
    signals: ClassVar[frozenset[Signal]]
    """The signals that the collector takes over this transport."""
    runtimes: ClassVar[frozenset[Runtime]]
    """Where it runs by itself. Under trio, an asyncio-only transport runs in a thread with an asyncio loop."""

    def __init__(self, config: Config, address: Address) -> None:
        """Prepare the client; connects to nothing.

        :raises ConfigError: when a setting cannot be used
        """
        ...

    async def send(self, signal: Signal, records: Sequence[bytes]) -> None:
        """Deliver encoded records; returning means that the collector confirmed all of them."""
        ...

    async def report_properties(self, instance: Instance) -> None:
        """Report the instance to the collector."""
        ...

    async def keep_alive(self, instance: Instance) -> None:
        """Report to the collector that the instance lives."""
        ...

    async def aclose(self) -> None:
        """Let go of the connection, at once. Calls under way end as ambiguous; twice is harmless."""
        ...


class CommandTransport(Transport, Protocol):
    """The further methods of a transport whose collector can give it profile tasks. One without them gets none."""

    async def profile_commands(self, instance: Instance, since: int) -> Sequence[Command]:
        """Ask for the profile tasks that were made after a moment. An answer that cannot be read, or that is too long,
        raises RejectedError.

        :param since: milliseconds since the epoch
        """
        ...

    async def report_profile_finish(self, instance: Instance, task: str) -> None:
        """Report to the collector that a profile task is over."""
        ...


class ConfigurationTransport(Transport, Protocol):
    """The further method of a transport whose collector can change settings at run time. Without it they stay as they
    are."""

    async def configuration_commands(self, instance: Instance, uuid: str) -> Sequence[Command]:
        """Ask for the settings of a service. An answer that cannot be read, or that is too long, raises RejectedError.

        :param uuid: of those that it said last; while they are the same it says nothing
        """
        ...


def addresses_of(transport: type[Transport], config: Config) -> Sequence[Address]:
    """Where to report: there is one transport object for each address, and the agent uses one of them at a time.

    These are the collector's addresses, unless the transport has others and says so in a class method
    `addresses(config)`. So does one whose servers are no alternatives to each other but form a cluster: one address.

    :raises ConfigError: when an address cannot be used
    """
    own: Callable[[Config], Sequence[Address]] | None = getattr(transport, "addresses", None)
    return config.addresses if own is None else own(config)
