"""The settings that a collector sets for the service at run time, for `swagent doctor`."""

from __future__ import annotations

from collections.abc import Sequence

from ..abc import Command, Instance, Transport
from ..backend import Runner
from ..errors import DeliveryError
from ..runtime.overrides import shown
from ..runtime.remote_settings import COMMAND, read_settings


async def overridden(runner: Runner, transport: Transport, instance: Instance) -> list[str]:
    """A sentence for each setting that an agent would follow now, or why it follows none."""
    ask = getattr(transport, "configuration_commands", None)
    if ask is None:
        return []
    try:
        return _sentences(await runner(ask, instance, ""))
    except DeliveryError as error:
        return [f"• whether it changes settings at run time is not known ({error})"]


def _sentences(commands: Sequence[Command]) -> list[str]:
    for command in commands:
        if command.name != COMMAND:
            continue
        try:
            values = read_settings(command.arguments).values
        except ValueError as error:
            return [f"! its settings for this service are not followed: {error}"]
        return [f"• it sets {name} to {shown(value)} at run time" for name, value in values.items()]
    return []
