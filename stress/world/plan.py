"""What a seed means: settings, the application's work, and the faults. Pure: the same seed, the same plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

SETTLED = 105.0
"""Seconds after the last fault after which all is well: the rest of a collector that refused us (60 s), the cap of the
backoff (30 s), calls that pass their deadline on a connection that is half open, and a little more."""
_PROBED = 30.0
_LAST_REST = 310.0
CELLS = (("asyncio", "grpc"), ("asyncio", "http"), ("trio", "http"))


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong, and for how long.

    :ivar target: the number of the collector that it hits
    :ivar strength: from 0 to 1
    """

    at: float
    seconds: float
    kind: str
    target: int
    strength: float

    def __str__(self) -> str:
        return f"{self.at:8.1f} s {self.kind} at {self.target}, for {self.seconds:.1f} s, strength {self.strength:.2f}"


KINDS: dict[str, float] = {
    # collectors
    "kill": 3, "stop": 2, "errors": 3, "busy": 2, "refuses": 2, "forbids": 1, "lacks a service": 0.3, "silent": 2,
    "resets": 3, "refuses streams": 2, "leaves": 2, "garbage": 1, "slow": 2, "slow reader": 2, "mixed": 3,
    # networks
    "latency": 2, "loss": 2, "bandwidth": 2, "partition": 3, "deaf": 1, "half open": 2, "cut connections": 3,
    # names
    "no name": 1, "slow names": 1, "silent names": 1, "stale names": 1,
    # clocks, the application, the agent
    "clock forward": 1, "clock back": 1, "held loop": 2, "burst": 3, "huge record": 1, "flush": 4, "restart": 4,
    "cancelled": 4,
}  # fmt: skip
"""The kinds of faults, and how often each is drawn, relative to the others."""
DISK_KINDS: dict[str, float] = {"full disk": 1, "broken disk": 1, "slow disk": 1, "hanging disk": 1}
"""Those of a disk, which a seed with a spill has as well."""
_SPILLING = 0.15
"""The share of the seeds that have a spill."""

_HUGE = 600_000
"""A record has no more bytes."""
_CALM = 15.0
"""Seconds after the last fault after which a disk is written and read again."""
_HANGING = frozenset({"stop", "silent", "slow", "slow reader", "partition", "deaf", "half open"})


@dataclass(frozen=True)
class Disk:
    """Where an agent spills to.

    :ivar files: how many it may have there
    :ivar file_bytes: how large one may be
    """

    files: int
    file_bytes: int


@dataclass(frozen=True)
class Plan:
    """All that a seed decides before the history begins.

    :ivar settings: of the agent's
    :ivar pace: seconds between two pieces of work of the application, on average
    :ivar most: records that one piece makes at most
    :ivar room: bytes that the buffers of a connection hold
    :ivar ends_at: when the application ends, in seconds
    :ivar disk: None: nothing is spilled
    """

    seed: int
    backend: str
    protocol: str
    collectors: int
    settings: dict[str, Any]
    pace: float
    most: int
    room: int
    faults: tuple[Fault, ...]
    ends_at: float
    disk: Disk | None = None

    def without(self, *faults: Fault) -> Plan:
        """The same, with fewer faults."""
        return replace(self, faults=tuple(each for each in self.faults if each not in faults))

    @property
    def calm_from(self) -> float:
        """When all is well again, whatever was before."""
        has_long_rest = any(each.kind in ("lacks a service", "mixed") for each in self.faults)
        last = max((each.at + each.seconds for each in self.faults), default=0.0)
        return last + (_LAST_REST if has_long_rest else SETTLED)

    def __str__(self) -> str:
        head = f"seed {self.seed}: {self.backend}, {self.protocol}, {self.collectors} collectors, {self.settings}"
        work = f"1 to {self.most} records every {self.pace:.2f} s, {self.room} bytes of buffers, {self.ends_at:.0f} s"
        disk = [] if self.disk is None else [f"{self.disk.files} files of {self.disk.file_bytes} bytes on disk"]
        return "\n".join([head, work, *disk, *map(str, self.faults)])


def draw_plan(seed: int, minutes: float, cells: Sequence[tuple[str, str]] = CELLS) -> Plan:
    """The plan of a seed.

    :param minutes: how long faults go on
    """
    random = Random(f"{seed}/plan")
    backend, protocol = cells[seed % len(cells)]
    seconds = 60 * minutes
    density = random.choice([8.0, 20.0, 60.0])
    count = 0 if random.random() < 0.02 else max(1, int(seconds / density * (0.5 + random.random())))
    collectors = random.choice([1, 1, 2, 3])
    faults = [_draw_fault(random, seconds, collectors) for _ in range(count)]
    faults = sorted((_amid_another(random, each, faults) for each in faults), key=lambda fault: fault.at)
    plan = Plan(
        seed=seed, backend=backend, protocol=protocol, collectors=collectors, settings=_draw_settings(random, seed),
        pace=random.choice([0.3, 1.0, 5.0]), most=random.choice([1, 8, 60]),
        room=random.choice([4 * 1024, 64 * 1024, 256 * 1024]), faults=tuple(faults), ends_at=0.0,
    )  # fmt: skip
    disks = Random(f"{seed}/disk")
    if disks.random() < _SPILLING:
        plan = _with_disk(disks, plan, seconds)
    return replace(plan, ends_at=plan.calm_from + _PROBED)


def _with_disk(random: Random, plan: Plan, seconds: float) -> Plan:
    """The same, with little room in memory, and outages."""
    disk = Disk(random.choice([2, 8, 32]), random.choice([24 << 10, 1 << 20]))
    # a record that fits into no file is none that an agent has
    faults = [each for each in plan.faults if each.kind != "huge record" or disk.file_bytes > _HUGE]
    for _ in range(max(1, int(seconds / 60))):
        faults += _draw_outage(random, seconds, plan.collectors)
    faults.sort(key=lambda fault: fault.at)
    # what a disk that failed has kept from one start is there for the next one
    faults.append(Fault(max(each.at + each.seconds for each in faults) + _CALM, 0.0, "restart", 0, 0.0))
    room = {"trace_max_buffer_size": random.choice([40, 300]), "log_reporter_max_buffer_size": 40}
    return replace(plan, disk=disk, settings={**plan.settings, **room, "spill": "/world,8MiB"}, faults=tuple(faults))


def _draw_outage(random: Random, seconds: float, collectors: int) -> list[Fault]:
    """No collector, more records than memory has room for, faults of the disk, and a death amid it and one behind."""
    at, lasts = random.uniform(0.0, seconds), random.choice([8.0, 20.0]) * (0.5 + random.random())
    faults = [Fault(at, lasts, "kill", target, 0.5) for target in range(collectors)]
    faults.append(Fault(at + 0.2 * lasts * random.random(), 0.0, "burst", 0, 0.1 + 0.3 * random.random()))
    for _ in range(random.randint(0, 3)):
        amid = at + 1.2 * lasts * random.random()
        faults.append(replace(_draw_fault(random, seconds, collectors, DISK_KINDS), at=amid))
    for when in (0.5 + 0.4 * random.random(), 1.0):
        (kind,) = random.choices(["death", "power loss", "restart"], [3, 3, 2])
        faults.append(Fault(at + when * lasts, 10.0, kind, 0, random.random()))
    return faults


def _draw_fault(random: Random, seconds: float, collectors: int, kinds: dict[str, float] = KINDS) -> Fault:
    (kind,) = random.choices([*kinds], [*kinds.values()])
    lasts = random.choice([0.2, 2.0, 8.0, 20.0, 70.0]) * (0.5 + random.random())
    return Fault(random.uniform(0.0, seconds), lasts, kind, random.randrange(collectors), random.random())


def _amid_another(random: Random, fault: Fault, faults: Sequence[Fault]) -> Fault:
    """What the application does is of most interest while something else is wrong."""
    if fault.kind not in ("flush", "restart", "cancelled", "burst") or random.random() < 0.3:
        return fault
    hanging = [each for each in faults if each.kind in _HANGING]
    other = random.choice(hanging if hanging and random.random() < 0.5 else faults)
    return replace(fault, at=other.at + other.seconds * random.random())


def _draw_settings(random: Random, seed: int) -> dict[str, Any]:
    return {
        "delivery": random.choice(["at_most_once", "at_most_once", "at_least_once"]),
        "trace_max_buffer_size": random.choice([40, 300, 10_000]),
        "log_reporter_max_buffer_size": random.choice([40, 10_000]),
        "request_timeout": random.choice([1.0, 5.0]),
        "shutdown_timeout": random.choice([0.5, 2.0, 5.0]),
        "heartbeat_period": random.choice([5.0, 30.0]),
        "connection_max_age": Random(f"{seed}/age").choice([0.0, 4.0, 30.0]),
    }
