"""The agent's pipelines: one a signal, each a channel and the reporter that empties it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import anyio

from ..abc import Transport
from ..agent_log import RateLimitedLog
from ..backend import LoopNotifier
from ..config import Config
from ..errors import ConfigError
from ..ledger import LATENCY_BOUNDS_MS, Drop, Refusal, SignalStatistics, Statistics, nothing
from ..signals import SPILLED, Bounds, Signal, bounds_of, is_wanted
from .channel import Channel
from .delivery import Policy
from .intake import EncodePlain, Intake, Pending, RequestEncoding, SegmentIntake
from .log_intake import LogEncoding, LogIntake
from .relief import OutlineReading, Relief
from .reporter import Reporter
from .route import Route

if TYPE_CHECKING:
    from .spill.spill import Spill

T = TypeVar("T")
_ROOM = 7
"""How many batches of segments there has to be room for, so that ordinary ones are dropped before the room is full. Of
fewer, the four under way and one that fills would nearly fill it when nothing is amiss."""


class Pipelines:
    """Where finished records go, by signal. A signal that is off takes nothing and says why."""

    def __init__(
        self,
        config: Config,
        transport: type[Transport],
        route: Route,
        clock: Callable[[], float],
        limited: RateLimitedLog,
    ) -> None:
        """:raises ConfigError: when a signal is asked for that the transport cannot carry, or nothing can be spilled to
        where it is set"""
        self._limited = limited
        self._sheds = config.trace_shedding
        self._is_orphaned = False
        self._intakes: list[Pending] = []
        self.channels: dict[Signal, Channel] = {}
        self.reporters: dict[Signal, Reporter] = {}
        policy = Policy(at_least_once=config.delivery == "at_least_once")
        reasons = {signal: _why_off(signal, config, transport) for signal in Signal}
        self._off = {signal: reason for signal, reason in reasons.items() if reason}
        self.spill = _make_spill(config.spill, transport, limited) if config.spill else None
        """Moves records to disk and back; None: nothing does."""
        for signal in (each for each in Signal if each not in self._off):
            channel = self.channels[signal] = self._make_channel(signal, bounds_of(signal, config), clock)
            self.reporters[signal] = Reporter(channel, route, policy, limited)

    def _make_channel(self, signal: Signal, bounds: Bounds, clock: Callable[[], float]) -> Channel:
        if self.spill is None or signal not in SPILLED:
            return Channel(signal, bounds, clock)
        return self.spill.make_channel(signal, bounds, clock)

    def is_on(self, signal: Signal) -> bool:
        """Whether there is a pipeline for it."""
        return signal in self.channels

    def offer_to(self, signal: Signal, encode: Callable[[T], bytes]) -> Callable[[T], None]:
        """Make the `offer` of a signal that is on: a function that takes a finished record. Any thread; it never raises
        and never waits.

        :param encode: turns a record into bytes; it may raise, which costs that record only
        """
        intake = Intake(self.channels[signal], encode, self._limited)
        self._intakes.append(intake)
        return intake.offer

    def segment_intake(
        self,
        encode: Callable[[Any], bytes],
        requests: RequestEncoding,
        outlines: OutlineReading,
        encode_plain: EncodePlain | None = None,
    ) -> SegmentIntake:
        """Make the intake of segments, see there."""
        channel = self.channels[Signal.SEGMENT]
        # in less room a batch that comes or goes is most of the last quarter, and no rate could follow it
        sheds = self._sheds and channel.bounds.max_items >= _ROOM * channel.bounds.batch_items
        relief = Relief(channel, outlines) if sheds else None
        intake = SegmentIntake(channel, encode, requests, self._limited, relief, encode_plain)
        self._intakes.append(intake)
        return intake

    def log_intake(self, encoding: LogEncoding) -> LogIntake:
        """Make the intake of log records, see there."""
        intake = LogIntake(self.channels[Signal.LOG], encoding, self._limited)
        self._intakes.append(intake)
        return intake

    def attach(self, notify: LoopNotifier | None) -> None:
        """Set the way into the reporters' loop."""
        for channel in self.channels.values():
            channel.attach(notify)

    def close(self) -> None:
        """Take nothing more in; what waits is still delivered."""
        for channel in self.channels.values():
            channel.close()

    def close_for_last_event(self) -> None:
        """Take nothing more in but an event."""
        for signal, channel in self.channels.items():
            if signal is not Signal.EVENT:
                channel.close()

    def end(self) -> None:
        """Give up what could not be delivered in time."""
        for channel in self.channels.values():
            channel.close()
            channel.drop_queued(Drop.SHUTDOWN)
            channel.attach(None)
        if self.spill is not None:
            self.spill.close()

    def end_without_loop(self) -> None:
        """Their loop was closed while they were at work."""
        for channel in self.channels.values():
            channel.detach()
            for lease in list(channel.leases):
                # bytes may have left
                lease.drop(Drop.AMBIGUOUS)
        self.end()

    def has_queued(self) -> bool:
        """Whether anything waits."""
        return any(each.queued for each in self.statistics())

    @property
    def are_closed(self) -> bool:
        """Whether nothing is taken in any more."""
        return all(channel.is_closed for channel in self.channels.values())

    def orphan(self) -> None:
        """Say that no task empties the channels until the agent stops."""
        self._is_orphaned = True
        for channel in self.channels.values():
            channel.wake_waiters()

    def switch_off(self, signal: Signal) -> None:
        """Give a signal up."""
        channel = self.channels[signal]
        channel.close(Refusal.DISABLED)
        channel.drop_queued(Drop.INTERNAL)

    def after_fork_in_child(self) -> None:
        """In a forked child: leave everything to the parent."""
        for intake in self._intakes:
            intake.after_fork_in_child()
        for channel in self.channels.values():
            channel.after_fork_in_child()
        if self.spill is not None:
            self.spill.after_fork_in_child()

    async def flush(self) -> bool:
        """Send what waits now, and wait for its verdicts; True when all of it was confirmed."""
        confirmed: set[Signal] = set()

        async def flush(signal: Signal, channel: Channel) -> None:
            if await self._flush(channel):
                confirmed.add(signal)

        async with anyio.create_task_group() as group:
            for signal, channel in self.channels.items():
                group.start_soon(flush, signal, channel)
        # on asyncio these tasks may have been cancelled, and then they say nothing
        return confirmed == self.channels.keys()

    async def _flush(self, channel: Channel) -> bool:
        before = channel.statistics()
        while not channel.is_settled(before.offered):
            if self._is_orphaned:
                return False
            channel.request_flush()
            await channel.wait_settled()
        return sum(channel.statistics().dropped.values()) == sum(before.dropped.values())

    def statistics(self) -> Statistics:
        """The ledger of this instant."""
        return Statistics({signal: self._of(signal) for signal in Signal})

    def latencies(self) -> dict[str, list[tuple[float, int]]]:
        """For each signal that is on, how many records took how long from offer to confirmation: pairs of a lower bound
        in milliseconds and a count."""
        found = {signal.value: channel.statistics().latency for signal, channel in self.channels.items()}
        return {signal: list(zip(LATENCY_BOUNDS_MS, counts, strict=True)) for signal, counts in found.items()}

    def _of(self, signal: Signal) -> SignalStatistics:
        channel = self.channels.get(signal)
        if channel is None:
            return nothing(signal, self._off[signal])
        statistics = channel.statistics()
        is_orphaned = self._is_orphaned and statistics.state == "on"
        return replace(statistics, state="orphaned") if is_orphaned else statistics

    def __iter__(self) -> Iterator[tuple[Signal, Reporter]]:
        return iter(self.reporters.items())

    def __repr__(self) -> str:
        return f"<Pipelines {list(self.channels.values())}>"


def _make_spill(setting: str, transport: type[Transport], limited: RateLimitedLog) -> Spill | None:
    # most agents spill nothing
    from .spill.spill import Spill, open_disk  # noqa: PLC0415, RUF100

    disk = open_disk(setting)
    return None if disk is None else Spill(disk, transport.codec, limited)


def _why_off(signal: Signal, config: Config, transport: type[Transport]) -> str:
    """Why a signal has no pipeline; empty when it has one."""
    is_carried = signal in transport.signals
    setting = is_wanted(signal, config)
    if setting is False:
        return "off: switched off"
    if setting and not is_carried:
        raise ConfigError(
            config.origin_of(f"{signal.value}_reporter_active"),
            True,
            f"unset or false: the transport {transport.name} carries no {signal.value}s",
        )
    return "" if is_carried else f"off: {transport.name} carries no {signal.value}s"
