"""A configuration centre for a real OAP: what it is asked over gRPC for its dynamic configuration.

with ConfigurationCentre() as centre, Oap(configuration_port=centre.port):
    centre.set("configuration-discovery.default.agentConfigurations", "configurations: ...")
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import betterproto

from kit import answers
from kit.h2_peer import Call, H2Peer, message


@dataclass
class _Request(betterproto.Message):
    cluster_name: str = betterproto.string_field(1)
    uuid: str = betterproto.string_field(2)


@dataclass
class _Item(betterproto.Message):
    name: str = betterproto.string_field(1)
    value: str = betterproto.string_field(2)


@dataclass
class _Response(betterproto.Message):
    items: list[_Item] = betterproto.message_field(1)
    uuid: str = betterproto.string_field(2)


class ConfigurationCentre(H2Peer):
    """It has the OAP's `ConfigurationService`: single items, and no groups of items."""

    def __init__(self) -> None:
        super().__init__(self._answer)
        self._items: dict[str, str] = {}
        self._versions = itertools.count(1)
        self._version = "0"

    def set(self, name: str, value: str) -> None:
        """Change an item; an empty value takes it away. The OAP asks every second."""
        self._items = {**self._items, name: value}
        self._version = str(next(self._versions))

    async def _answer(self, call: Call) -> None:
        if not call.headers[b":path"].endswith(b"/call"):
            await answers.confirm(call)
            return
        version = self._version
        items = [_Item(*each) for each in self._items.items()]
        has_it = _Request().parse(call.messages[0]).uuid == version
        await answers.reply(message(bytes(_Response([] if has_it else items, version))))(call)
