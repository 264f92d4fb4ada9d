"""The conformance suite for transports: the fake passes it, and broken ones do not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio
import pytest

from kit.virtual_time import on_virtual_clocks
from runtime.worlds import config, hanging, rejecting, unreachable
from swagent.abc import Transport
from swagent.errors import AmbiguousError, RejectedError, RetryableError
from swagent.signals import Signal
from swagent.testing import MemoryCollector, MemoryTransport, check_transport

pytestmark = [pytest.mark.anyio, on_virtual_clocks]


class MemoryPeer:
    """A MemoryCollector in the states that the suite asks for."""

    def __init__(self, kind: type[MemoryTransport] = MemoryTransport) -> None:
        self.collector = MemoryCollector()
        self.kind: type[MemoryTransport] = type(kind.__name__, (kind,), {"collector": self.collector})

    def connect(self) -> Transport:
        settings = config(request_timeout=1.0)
        return self.kind(settings, settings.addresses[0])

    async def serve(self) -> None:
        self.collector.behaviour = None

    async def refuse(self) -> None:
        self.collector.behaviour = rejecting

    async def hang(self) -> None:
        self.collector.behaviour = hanging

    async def vanish(self) -> None:
        self.collector.behaviour = unreachable

    async def received(self, signal: Signal) -> Sequence[bytes]:
        return self.collector.records[signal]


def sample(number: int) -> bytes:
    return b"segment %d" % number


async def run_here(function: Callable[..., Awaitable[None]], *args: Any) -> None:
    await function(*args)


async def test_the_fake_keeps_all_promises() -> None:
    await check_transport(MemoryPeer(), sample, run_here)


class Losing(MemoryTransport):
    async def send(self, signal: Signal, records: Sequence[bytes]) -> None:
        await super().send(signal, records[:-1])


class Doubling(MemoryTransport):
    async def send(self, signal: Signal, records: Sequence[bytes]) -> None:
        await super().send(signal, [*records, records[0]])


def taking(kind: type[BaseException], into: type[Exception] | None = None) -> type[MemoryTransport]:
    """A transport that takes such an outcome for a confirmation, or for another error."""

    class Taking(MemoryTransport):
        async def send(self, signal: Signal, records: Sequence[bytes]) -> None:
            try:
                await super().send(signal, records)
            except kind:
                if into is not None:
                    raise into("something") from None

    return Taking


class SwallowingCancellation(MemoryTransport):
    into: type[Exception] | None = None

    async def send(self, signal: Signal, records: Sequence[bytes]) -> None:
        try:
            await super().send(signal, records)
        except anyio.get_cancelled_exc_class():
            if self.into is not None:
                raise self.into("cancelled") from None


class TranslatingCancellation(SwallowingCancellation):
    into = AmbiguousError


class Shielding(MemoryTransport):
    async def send(self, signal: Signal, records: Sequence[bytes]) -> None:
        with anyio.CancelScope(shield=True):
            await super().send(signal, records)


class WorkingAfterItsEnd(MemoryTransport):
    async def aclose(self) -> None:
        await anyio.lowlevel.checkpoint()


class ClosingOnlyOnce(MemoryTransport):
    async def aclose(self) -> None:
        assert not self._is_closed, "closed twice"
        await super().aclose()


class NeverReconnecting(MemoryTransport):
    async def send(self, signal: Signal, records: Sequence[bytes]) -> None:
        try:
            await super().send(signal, records)
        except RetryableError:
            self._is_closed = True
            raise


BROKEN: dict[str, type[MemoryTransport]] = {
    "loses": Losing,
    "doubles": Doubling,
    "confirms what was refused": taking(RejectedError),
    "confirms silence": taking(AmbiguousError),
    "confirms without anyone": taking(RetryableError),
    "calls all ambiguous": taking(Exception, AmbiguousError),
    "swallows cancellation": SwallowingCancellation,
    "translates cancellation": TranslatingCancellation,
    "shields": Shielding,
    "works after its end": WorkingAfterItsEnd,
    "closes only once": ClosingOnlyOnce,
    "never reconnects": NeverReconnecting,
}


@pytest.mark.one_loop
@pytest.mark.parametrize("name", BROKEN)
async def test_a_broken_transport_is_found_out(name: str) -> None:
    with pytest.raises(RetryableError if name == "never reconnects" else AssertionError):
        await check_transport(MemoryPeer(BROKEN[name]), sample, run_here)
