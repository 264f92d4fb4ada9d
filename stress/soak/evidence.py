"""The evidence that one application left."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from swagent.signals import Signal

from .cells import Cell

# Words that an application's output must not contain.
BAD_WORDS = ("Traceback (", "was never awaited", "was destroyed", "Exception ignored", "never retrieved",
             "ResourceWarning", "Unhandled exception", "Fatal")  # fmt: skip
_OWN_LINE = "swagent {"


@dataclass(frozen=True)
class Counts:
    """One signal's ledger at one moment."""

    offered: int = 0
    confirmed: int = 0
    queued: int = 0
    in_flight: int = 0
    balanced: bool = True
    state: str = "on"
    refused: Mapping[str, int] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Sample:
    """An application at one moment.

    :ivar at: in seconds of the monotonic clock
    :ivar is_last: whether the agent had ended
    """

    at: float
    rss: int
    descriptors: int
    threads: int
    tasks: int
    ledgers: Mapping[Signal, Counts]
    is_last: bool = False

    @property
    def waiting(self) -> int:
        """Records that have no verdict yet."""
        return sum(each.queued + each.in_flight for each in self.ledgers.values())


@dataclass(frozen=True)
class LogLine:
    """One line of the agent's own; `form` is its text before the parameters were put in."""

    at: float
    level: str
    form: str
    text: str


@dataclass(frozen=True)
class Ending:
    """How an application ended after SIGTERM."""

    status: int | None
    seconds: float


@dataclass
class Evidence:
    """All of it, about one cell.

    :ivar asked: how many requests were sent, numbered from 0
    :ivar failures: why those failed that were not answered as they should
    :ivar calm: latencies, in seconds from the moment a request was due, while there was no fault
    :ivar troubled: those while there was one, except while the application itself was stopped
    :ivar samples: the last one is from after the agent's end
    :ivar confirmed: names of the records that the transport confirmed
    :ivar seen: names of the records that came, each with how often
    :ivar recovered: seconds from the end of the last fault until new records were confirmed; None: never
    """

    cell: Cell
    asked: int = 0
    answered: int = 0
    failures: Counter[str] = field(default_factory=Counter[str])
    calm: list[float] = field(default_factory=list[float])
    troubled: list[float] = field(default_factory=list[float])
    samples: list[Sample] = field(default_factory=list[Sample])
    confirmed: Mapping[Signal, Counter[str]] = field(default_factory=dict[Signal, Counter[str]])
    seen: Mapping[Signal, Counter[str]] = field(default_factory=dict[Signal, Counter[str]])
    recovered: float | None = None
    complaints: list[str] = field(default_factory=list[str])
    log: list[LogLine] = field(default_factory=list[LogLine])
    ending: Ending = field(default_factory=lambda: Ending(None, 0.0))

    @property
    def last(self) -> Mapping[Signal, Counts]:
        """The ledgers at the end."""
        return self.samples[-1].ledgers if self.samples else {}


def read_samples(path: Path) -> list[Sample]:
    """The samples that an application has written."""
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [_sample(json.loads(line)) for line in lines if line.endswith("\n")]


def read_last_sample(path: Path) -> Sample | None:
    """The newest one, without reading all of them."""
    if not path.exists():
        return None
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 8192))
        lines = file.read().split(b"\n")
    # after the last line's end there is nothing, and before the first line's beginning may be half a line
    return _sample(json.loads(lines[-2])) if len(lines) > 2 else None


def _sample(fields: dict[str, Any]) -> Sample:
    ledgers = {Signal(name): Counts(**counts) for name, counts in fields.pop("ledgers").items()}
    return Sample(ledgers=ledgers, **fields)


def read_names(path: Path) -> dict[Signal, Counter[str]]:
    """The names of records, from the file in which they were noted."""
    found: dict[Signal, Counter[str]] = {signal: Counter() for signal in Signal}
    if path.exists():
        with path.open() as file:
            for line in file:
                signal, name = line.split()
                found[Signal(signal)][name] += 1
    return found


def read_output(path: Path) -> tuple[list[str], list[LogLine]]:
    """An application's output: what should not be there, and the agent's own lines."""
    lines = path.read_text(errors="replace").splitlines()
    own = [json.loads(line.removeprefix("swagent ")) for line in lines if line.startswith(_OWN_LINE)]
    complaints = [
        line.strip() for line in lines if not line.startswith(_OWN_LINE) and any(word in line for word in BAD_WORDS)
    ]
    return complaints, [LogLine(**each) for each in own]
