"""A collector and transport in memory, and the conformance suite that every transport passes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar, Protocol

import anyio

from swagent.abc import Codec, Instance, Runtime, Transport
from swagent.config import Config
from swagent.config.options import Address
from swagent.errors import AmbiguousError, DeliveryError, RejectedError, RetryableError
from swagent.signals import Signal

Behaviour = Callable[[], Awaitable[None]]


class MemoryCollector:
    """A collector in memory: it keeps what reached it, and misbehaves as the test demands.

    :ivar records: what was confirmed, per signal, as the wire's bytes
    :ivar behaviour: awaited before each call is taken; it may raise a DeliveryError, or wait
    """

    def __init__(self, codec: Codec = "protobuf") -> None:
        self.records: dict[Signal, list[bytes]] = {signal: [] for signal in Signal}
        self.batches: list[int] = []
        self.properties: list[Instance] = []
        self.heartbeats = 0
        self.behaviour: Behaviour | None = None
        self.transport: type[Transport] = type(
            "BoundMemoryTransport", (MemoryTransport,), {"collector": self, "codec": codec}
        )
        self._changed = anyio.Event()

    def count(self, signal: Signal) -> int:
        """How many records of a signal were confirmed."""
        return len(self.records[signal])

    async def take(self, signal: Signal, records: Sequence[bytes]) -> None:
        """Confirm a batch, unless the behaviour prevents it."""
        await self._behave()
        self.records[signal].extend(records)
        self.batches.append(len(records))
        self._report()

    async def meet(self, instance: Instance) -> None:
        """Take the properties of an instance."""
        await self._behave()
        self.properties.append(instance)
        self._report()

    async def hear(self) -> None:
        """Take a heartbeat."""
        await self._behave()
        self.heartbeats += 1
        self._report()

    async def wait_until(self, condition: Callable[[MemoryCollector], bool], timeout: float = 5.0) -> None:
        """Wait for a condition on what arrived.

        :raises TimeoutError: when it does not hold in time
        """
        with anyio.fail_after(timeout):
            while not condition(self):
                await self._changed.wait()

    async def _behave(self) -> None:
        await anyio.lowlevel.checkpoint()
        if self.behaviour is not None:
            await self.behaviour()

    def _report(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()


class MemoryTransport:
    """The transport to a MemoryCollector; get it from `MemoryCollector.transport`."""

    name: ClassVar[str] = "memory"
    codec: ClassVar[Codec] = "protobuf"
    signals: ClassVar[frozenset[Signal]] = frozenset(Signal)
    runtimes: ClassVar[frozenset[Runtime]] = frozenset({"asyncio", "trio"})
    collector: ClassVar[MemoryCollector]

    def __init__(self, config: Config, address: Address) -> None:
        self._address = address
        self._timeout = config.request_timeout
        self._is_closed = False

    async def send(self, signal: Signal, records: Sequence[bytes]) -> None:
        """Deliver a batch."""
        await self._call(lambda: self.collector.take(signal, records))

    async def report_properties(self, instance: Instance) -> None:
        """Report the instance to the collector."""
        await self._call(lambda: self.collector.meet(instance))

    async def keep_alive(self, instance: Instance) -> None:  # noqa: ARG002, RUF100
        """Report to the collector that the instance lives."""
        await self._call(self.collector.hear)

    async def aclose(self) -> None:
        """Nothing is sent any more."""
        self._is_closed = True
        await anyio.lowlevel.checkpoint()

    async def _call(self, function: Callable[[], Awaitable[None]]) -> None:
        if self._is_closed:
            raise RetryableError("the transport is closed")
        with anyio.move_on_after(self._timeout):
            await function()
            return
        raise AmbiguousError(f"no answer within {self._timeout:g} s")

    def __str__(self) -> str:
        return f"memory://{self._address}"


class Peer(Protocol):
    """A collector, real or fake, that `check_transport` can put into each state."""

    def connect(self) -> Transport:
        """A new transport to it, with a `request_timeout` of at most one second."""
        ...

    async def serve(self) -> None:
        """Take everything, at the same address at each call."""
        ...

    async def refuse(self) -> None:
        """Reject every batch."""
        ...

    async def hang(self) -> None:
        """Take connections and never answer."""
        ...

    async def vanish(self) -> None:
        """Let nothing listen, so that a connection is refused at once."""
        ...

    async def received(self, signal: Signal) -> Sequence[bytes]:
        """The records that reached it so far, in any order."""
        ...


async def check_transport(peer: Peer, sample: Callable[[int], bytes], runner: Callable[..., Awaitable[None]]) -> None:
    """Check the promises that every transport keeps. Raises AssertionError for a broken one.

    :param peer: the collector
    :param sample: makes the n-th encoded segment
    :param runner: awaits a method of the transport where it can run: `runner(transport.send, signal, records)`
    """
    await _confirms_what_arrived(peer, sample, runner)
    await _empty_batch_is_confirmed(peer, sample, runner)
    await _reports_silence_as_ambiguous(peer, sample, runner)
    await _can_be_cancelled(peer, sample, runner)
    await _reports_refusal(peer, sample, runner)
    await _recovers(peer, sample, runner)
    await _closes_twice(peer, sample, runner)


_Sample = Callable[[int], bytes]
_Run = Callable[..., Awaitable[None]]
_INSTANCE = Instance("checked", "instance-1", (("language", "python"),))


async def _confirms_what_arrived(peer: Peer, sample: _Sample, run: _Run) -> None:
    await peer.serve()
    transport = peer.connect()
    records = [sample(number) for number in range(100)]

    async def send(batch: Sequence[bytes]) -> None:
        await run(transport.send, Signal.SEGMENT, batch)

    await run(transport.report_properties, _INSTANCE)
    await run(transport.keep_alive, _INSTANCE)
    async with anyio.create_task_group() as group:
        for start in range(0, 100, 10):
            group.start_soon(send, records[start : start + 10])
    arrived = await peer.received(Signal.SEGMENT)
    assert sorted(arrived) == sorted(records), "what send() confirmed has arrived, once, byte for byte"
    await run(transport.aclose)


async def _empty_batch_is_confirmed(peer: Peer, sample: _Sample, run: _Run) -> None:
    await peer.vanish()
    transport = peer.connect()
    error = await _failure(run, transport.send, Signal.SEGMENT, [sample(1)])
    assert isinstance(error, RetryableError), f"nothing listens, so nothing was sent: {error!r}"
    await run(transport.aclose)


async def _reports_silence_as_ambiguous(peer: Peer, sample: _Sample, run: _Run) -> None:
    await peer.hang()
    transport = peer.connect()
    with anyio.fail_after(3.0):
        error = await _failure(run, transport.send, Signal.SEGMENT, [sample(1)])
    assert isinstance(error, (AmbiguousError, RetryableError)), f"silence is no rejection: {error!r}"
    await run(transport.aclose)


async def _can_be_cancelled(peer: Peer, sample: _Sample, run: _Run) -> None:
    await peer.hang()
    transport = peer.connect()
    ended_by: BaseException | None = None

    async def send() -> None:
        nonlocal ended_by
        try:
            await run(transport.send, Signal.SEGMENT, [sample(1)])
        except BaseException as error:
            ended_by = error
            if not isinstance(error, Exception):
                raise

    with anyio.move_on_after(0.9) as patience:
        async with anyio.create_task_group() as group:
            group.start_soon(send)
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
    assert not patience.cancelled_caught, "a cancelled send() ends at once"
    assert isinstance(ended_by, anyio.get_cancelled_exc_class()), f"send() lets a cancellation through: {ended_by!r}"
    await run(transport.aclose)


async def _reports_refusal(peer: Peer, sample: _Sample, run: _Run) -> None:
    await peer.refuse()
    transport = peer.connect()
    error = await _failure(run, transport.send, Signal.SEGMENT, [sample(1)])
    assert isinstance(error, RejectedError), f"a refusal is a rejection: {error!r}"
    await run(transport.aclose)


async def _recovers(peer: Peer, sample: _Sample, run: _Run) -> None:
    await peer.serve()
    transport = peer.connect()
    await run(transport.send, Signal.SEGMENT, [sample(201)])
    await peer.vanish()
    await _failure(run, transport.send, Signal.SEGMENT, [sample(202)])
    await peer.serve()
    await run(transport.send, Signal.SEGMENT, [sample(203)])
    assert sample(203) in await peer.received(Signal.SEGMENT), "the same transport reaches the collector again"
    await run(transport.aclose)


async def _closes_twice(peer: Peer, sample: _Sample, run: _Run) -> None:
    await peer.serve()
    transport = peer.connect()
    await run(transport.keep_alive, _INSTANCE)
    await run(transport.aclose)
    await run(transport.aclose)
    error = await _failure(run, transport.send, Signal.SEGMENT, [sample(1)])
    assert isinstance(error, RetryableError), f"a closed transport sends nothing: {error!r}"


async def _failure(run: _Run, function: Callable[..., Awaitable[None]], *args: object) -> DeliveryError:
    try:
        await run(function, *args)
    except DeliveryError as error:
        return error
    raise AssertionError(f"{function} returned, so it confirmed what cannot have arrived")
