"""How far a record goes: the agent whole, and the agent cut off behind each of its stations.

What one station costs is the difference between two cuts. The cuts know the agent from inside; each is one function
that is put in another's place, and one that is not there any more says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from swagent.abc import Address, Codec, Instance, Runtime, Transport
from swagent.config import Config
from swagent.pipeline.channel import Channel
from swagent.pipeline.intake import SegmentIntake
from swagent.pipeline.log_intake import LogIntake
from swagent.signals import Signal

_CUT_SIGNALS = frozenset({Signal.SEGMENT, Signal.LOG})


class Confirming:
    """A transport that confirms everything at once."""

    name: ClassVar[str] = "grpc"
    codec: ClassVar[Codec] = "protobuf"
    signals: ClassVar[frozenset[Signal]] = frozenset(Signal)
    runtimes: ClassVar[frozenset[Runtime]] = frozenset({"asyncio"})

    def __init__(self, config: Config, address: Address) -> None:
        """Connects to nothing."""

    async def send(self, signal: Signal, records: Sequence[bytes]) -> None:
        """They have arrived."""

    async def report_properties(self, instance: Instance) -> None:
        """Known."""

    async def keep_alive(self, instance: Instance) -> None:
        """Known."""

    async def aclose(self) -> None:
        """Nothing to close."""


@dataclass(frozen=True)
class Stage:
    """:ivar part: what is paid for here and not one stage before
    :ivar delivers: whether the agent must have confirmed every record
    :ivar transport: the agent's own where there is none
    :ivar cut: puts the cut in place
    """

    part: str
    delivers: bool = False
    transport: type[Transport] | None = None
    cut: Callable[[], None] = lambda: None


def _cut_behind_recording() -> None:
    # what both implementations hand over is left pending, until a group of it would be encoded
    def cut(_: Callable[..., Any]) -> Callable[..., Any]:
        def drop_group(self: Any) -> None:
            self._pending.clear()

        return drop_group

    for intake in (SegmentIntake, LogIntake):
        _replace(intake, "_encode_group", cut)
    _replace(Channel, "wake_reader", _cut_wake)


def _cut_behind_encoding() -> None:
    def cut(offer: Callable[..., Any]) -> Callable[..., Any]:
        def drop_instead(self: Channel, payload: bytes, at: float | None = None) -> Any:
            return self.signal in _CUT_SIGNALS or offer(self, payload, at)

        return drop_instead

    def cut_many(offer_many: Callable[..., Any]) -> Callable[..., Any]:
        def drop_instead(self: Channel, payloads: Sequence[bytes], times: Sequence[float]) -> None:
            if self.signal not in _CUT_SIGNALS:
                offer_many(self, payloads, times)

        return drop_instead

    _replace(Channel, "offer", cut)
    _replace(Channel, "offer_many", cut_many)
    _replace(Channel, "wake_reader", _cut_wake)


def _cut_wake(wake: Callable[..., Any]) -> Callable[..., Any]:
    def wake_others(self: Channel) -> None:
        # a reader that never gets anything would be woken for each record
        if self.signal not in _CUT_SIGNALS:
            wake(self)

    return wake_others


def _replace(owner: type, name: str, cut: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    found: Callable[..., Any] | None = vars(owner).get(name)
    if found is None:
        raise AttributeError(f"{owner.__name__} has no {name} any more: the stages have to be cut elsewhere")
    setattr(owner, name, cut(found))


BARE = "bare"
WHOLE = "grpc"
STAGES: Mapping[str, Stage] = {
    BARE: Stage("the application without an agent"),
    "recorded": Stage("span, scope, ids, log record, end, hand-over", transport=Confirming, cut=_cut_behind_recording),
    "encoded": Stage("encoding", transport=Confirming, cut=_cut_behind_encoding),
    "confirmed": Stage("channel, batches, verdicts", delivers=True, transport=Confirming),
    WHOLE: Stage("gRPC", delivers=True),
}
