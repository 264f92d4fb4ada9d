"""Finding a transport by its name, and a word on where it reports to."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import cast

from ..abc import Transport
from ..agent_log import say
from ..config import Config
from ..config.options import Address
from ..errors import ConfigError

GROUP = "swagent.transports"


def find_transport(config: Config) -> type[Transport]:
    """The transport class that an installed distribution registered under the configured protocol's name.

    :raises ConfigError: when none has the name, or when what it needs is not installed
    """
    # not before it is needed: importing it is more than a tenth of what importing swagent was
    from importlib.metadata import entry_points  # noqa: PLC0415, RUF100

    found = {entry.name: entry for entry in entry_points(group=GROUP)}
    entry = found.get(config.protocol)
    if entry is None:
        allowed = ", ".join(sorted(found)) or "none: no transport is installed"
        raise ConfigError(config.origin_of("protocol"), config.protocol, allowed)
    try:
        return cast("type[Transport]", entry.load())
    except ImportError as error:
        raise ConfigError(
            config.origin_of("protocol"),
            config.protocol,
            f"{error.name} must be installed for it: pip install 'swagent[{config.protocol}]'",
        ) from error


def warn_of_plaintext(addresses: Sequence[Address]) -> None:
    """Say where telemetry can be read on its way. It is no error: many collectors are inside a trusted network."""
    exposed = [str(each) for each in addresses if each.is_exposed]
    if exposed:
        way_out = "see force_tls, grpcs:// and https://"
        say(logging.WARNING, "telemetry goes to %s without TLS; %s", ", ".join(exposed), way_out)
