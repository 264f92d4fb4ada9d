"""The signals: what has a pipeline of its own, and the bounds that it keeps."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .config import Config

KIB = 1024
MIB = 1024 * KIB


class Signal(enum.Enum):
    """One kind of telemetry with its own channel, reporter and ledger."""

    SEGMENT = "segment"
    """One record is one process's part of a trace."""
    LOG = "log"
    """One record is one log record."""
    METER = "meter"
    """One record holds all meters of one period: a MeterDataCollection, which the collector takes as one input set."""
    EVENT = "event"
    """One record says that the instance started, or that it stops."""
    PROFILE = "profile"
    """One record is where one task or thread of a request was at one moment, while a profile task is carried out."""


class Overflow(enum.Enum):
    """The policy of a full channel for one record more."""

    REFUSE_NEWEST = "refuse_newest"
    """The new record is refused, so what was accepted stays: a burst keeps its beginning."""
    EVICT_OLDEST = "evict_oldest"
    """The oldest waiting record makes room, so the newest view is kept."""


class Bounds(NamedTuple):
    """Hard limits of one signal's channel and of its batches. Queued and in-flight records count alike."""

    max_items: int
    """How many records the channel holds."""
    max_bytes: int
    """How many bytes the channel holds."""
    max_item_bytes: int
    """How large one record may be."""
    max_age: float
    """Seconds after which a record that still waits is dropped as expired."""
    batch_items: int
    """A batch with so many records is due."""
    batch_bytes: int
    """A batch of so many bytes is due."""
    batch_delay: float
    """Seconds after which a batch is due, counted from its oldest record."""
    overflow: Overflow


_BOUNDS: dict[Signal, Bounds] = {
    Signal.SEGMENT: Bounds(
        max_items=10_000, max_bytes=16 * MIB, max_item_bytes=256 * KIB, max_age=60.0,
        batch_items=512, batch_bytes=MIB, batch_delay=0.5, overflow=Overflow.REFUSE_NEWEST,
    ),
    Signal.LOG: Bounds(
        max_items=10_000, max_bytes=8 * MIB, max_item_bytes=64 * KIB, max_age=300.0,
        batch_items=512, batch_bytes=MIB, batch_delay=0.5, overflow=Overflow.REFUSE_NEWEST,
    ),
    # all or nothing, so a batch is one period; of the periods that wait, the newest are worth most
    Signal.METER: Bounds(
        max_items=4, max_bytes=4 * MIB, max_item_bytes=2 * MIB, max_age=60.0,
        batch_items=1, batch_bytes=2 * MIB, batch_delay=0.0, overflow=Overflow.EVICT_OLDEST,
    ),
    Signal.EVENT: Bounds(
        max_items=64, max_bytes=MIB, max_item_bytes=16 * KIB, max_age=300.0,
        batch_items=64, batch_bytes=MIB, batch_delay=0.0, overflow=Overflow.REFUSE_NEWEST,
    ),
    Signal.PROFILE: Bounds(
        max_items=5_000, max_bytes=8 * MIB, max_item_bytes=64 * KIB, max_age=300.0,
        batch_items=256, batch_bytes=MIB, batch_delay=0.5, overflow=Overflow.REFUSE_NEWEST,
    ),
}  # fmt: skip


SPILLED = frozenset((Signal.SEGMENT, Signal.LOG))
"""What goes to disk with `SW_AGENT_SPILL`. The others are few, or of no use later."""
SPILLED_AGE = 3600.0
"""Seconds after which these are dropped then, wherever they wait: what is on disk is there to outlast an outage."""


def bounds_of(signal: Signal, config: Config) -> Bounds:
    """The bounds of a signal, with what the user set."""
    bounds = _BOUNDS[signal]
    if config.spill and signal in SPILLED:
        bounds = bounds._replace(max_age=SPILLED_AGE)
    if signal is Signal.SEGMENT:
        return bounds._replace(max_items=config.trace_max_buffer_size)
    if signal is Signal.LOG:
        return bounds._replace(max_items=config.log_reporter_max_buffer_size)
    if signal is Signal.PROFILE:
        return bounds._replace(max_items=config.profile_snapshot_transport_buffer_size)
    return bounds


def is_wanted(signal: Signal, config: Config) -> bool | None:
    """The user's choice for a signal: on, off, or None for wherever the transport carries it."""
    if signal is Signal.LOG:
        return config.log_reporter_active
    if signal is Signal.METER:
        return config.meter_reporter_active
    if signal is Signal.EVENT:
        return config.event_reporter_active
    if signal is Signal.PROFILE and not config.profile_active:
        return False
    return None
