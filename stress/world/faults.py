"""What each kind of fault does to the world, and how it is taken back."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from .clock import Clock, WallClock
from .collector import Answer, Collector
from .disk import QUICK, Device
from .history import History
from .network import Network
from .plan import Fault

Undo = Callable[[], object]

_MOODS: dict[str, tuple[Answer, ...]] = {
    "errors": ("ok", "error"),
    "busy": ("busy",),
    "refuses": ("ok", "refused"),
    "forbids": ("forbidden",),
    "lacks a service": ("unknown", "ok"),
    "silent": ("silent",),
    "resets": ("ok", "reset"),
    "refuses streams": ("ok", "unprocessed"),
    "leaves": ("ok", "goaway"),
    "garbage": ("garbage", "ok"),
    "mixed": (
        "ok", "ok", "ok", "error", "busy", "refused", "unknown", "silent", "reset", "unprocessed", "goaway", "garbage",
    ),
}  # fmt: skip
_LOOKUPS = {"no name": "unknown", "slow names": "slow", "silent names": "silent", "stale names": "stale"}


class Faults:
    """Those that the world itself can have. The application has the others, see `application`."""

    def __init__(
        self,
        network: Network,
        collectors: list[Collector],
        clock: Clock,
        wall: WallClock,
        random: Random,
        history: History,
        device: Device | None,
    ) -> None:
        self._network = network
        self._collectors = collectors
        self._clock = clock
        self._wall = wall
        self._random = random
        self._history = history
        self.device = device

    def begin(self, fault: Fault) -> Undo | None:
        """Let it begin. Returns what ends it; None: it is none of the world's."""
        if self.device is not None and fault.kind.endswith(" disk"):
            return self._fail(self.device, fault)
        collector = self._collectors[fault.target]
        kind = fault.kind
        if kind in _MOODS:
            return self._set(collector, mood=_MOODS[kind])
        if kind in _LOOKUPS:
            return self._set(self._network, lookup=_LOOKUPS[kind], back="well")
        method: Callable[[Collector, Fault], Undo] | None = getattr(self, f"_{kind.replace(' ', '_')}", None)
        return None if method is None else method(collector, fault)

    def _set(self, owner: object, back: object = None, **values: object) -> Undo:
        """Set an attribute; the end sets it to what is usual, whatever other faults have set."""
        ((name, value),) = values.items()
        usual = back if back is not None else _USUAL[name]
        setattr(owner, name, value)
        return lambda: setattr(owner, name, usual)

    def _fail(self, device: Device, fault: Fault) -> Undo:
        """Let the disk fail in one way."""
        if fault.kind == "full disk":
            return self._set(device, space=int(50_000 * fault.strength**2))
        if fault.kind == "broken disk":
            return self._set(device, errors=0.1 + fault.strength)
        if fault.kind == "slow disk":
            return self._set(device, back=QUICK, wait=4 * fault.strength**2)
        device.is_hanging = True
        return device.resume

    def _kill(self, collector: Collector, _: Fault) -> Undo:
        collector.kill()
        return collector.start

    def _stop(self, collector: Collector, _: Fault) -> Undo:
        collector.is_stopped = True
        return collector.resume

    def _slow(self, collector: Collector, fault: Fault) -> Undo:
        return self._set(collector, wait=0.1 + 12 * fault.strength**2)

    def _slow_reader(self, collector: Collector, fault: Fault) -> Undo:
        collector.appetite = 500 + 20_000 * fault.strength

        def undo() -> None:
            collector.appetite = 0.0
            collector.resume()

        return undo

    def _latency(self, collector: Collector, fault: Fault) -> Undo:
        return self._set(collector.weather, latency=3 * fault.strength**2)

    def _loss(self, collector: Collector, fault: Fault) -> Undo:
        return self._set(collector.weather, loss=0.5 * fault.strength)

    def _bandwidth(self, collector: Collector, fault: Fault) -> Undo:
        return self._set(collector.weather, rate=1_000 + 50_000 * fault.strength)

    def _partition(self, collector: Collector, _: Fault) -> Undo:
        collector.weather.is_cut = True

        def undo() -> None:
            collector.weather.is_cut = False
            self._network.heal(collector)

        return undo

    def _deaf(self, collector: Collector, _: Fault) -> Undo:
        return self._set(collector.weather, is_deaf=True)

    def _half_open(self, collector: Collector, _: Fault) -> Undo:
        for link in self._network.links_of(collector):
            link.fall_silent()
        return int

    def _cut_connections(self, collector: Collector, fault: Fault) -> Undo:
        """Reset the connections, again and again."""
        is_over = False

        def cut() -> None:
            if is_over:
                return
            for link in self._network.links_of(collector):
                self._history.note(f"link {link.number} is reset on the way")
                link.reset()
            self._clock.call_at(self._clock.now() + 0.05 + 5 * self._random.random() * fault.strength, cut)

        def undo() -> None:
            nonlocal is_over
            is_over = True

        cut()
        return undo

    def _clock_forward(self, _: Collector, fault: Fault) -> Undo:
        self._wall.offset += 10_000 * fault.strength
        return int

    def _clock_back(self, _: Collector, fault: Fault) -> Undo:
        self._wall.offset -= 10_000 * fault.strength
        return int

    def _held_loop(self, _: Collector, fault: Fault) -> Undo:
        self._clock.hold(12 * fault.strength**2)
        return int


_USUAL: dict[str, object] = {
    "mood": ("ok",), "wait": 0.005, "latency": 0.0, "loss": 0.0, "rate": 0.0, "is_deaf": False,
    "space": None, "errors": 0.0,
}  # fmt: skip
