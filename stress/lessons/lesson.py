"""A lesson: its table, the published figures beside it, and the remarks of the run. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any, TypeVar

from stress.markdown import make_table

Key = TypeVar("Key")


@dataclass(frozen=True)
class Lesson:
    """The result of one.

    :ivar heads: of the columns
    :ivar notes: sentences that belong below the table
    :ivar faults: each makes the run fail: the table does not say what it is to say
    :ivar pictures: SVG by the name of its file
    """

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    faults: Sequence[str] = ()
    pictures: Mapping[str, str] = field(default_factory=dict)

    def render(self) -> str:
        """The lesson in Markdown."""
        notes = "\n".join(f"- {each}" for each in [*self.notes, *(f"void: {fault}" for fault in self.faults)])
        return "\n\n".join(filter(None, (f"### {self.title}", make_table(self.heads, self.rows), notes)))

    def document(self) -> dict[str, Any]:
        """The lesson for a file of JSON, without its pictures, which are files of their own."""
        return {name: value for name, value in asdict(self).items() if name != "pictures"}


def middle_of_rounds(keys: Sequence[Key], rounds: int, measure: Callable[[Key], float]) -> Mapping[Key, float]:
    """The median of each, measured in turns: a busy minute of the machine falls on all of them."""
    found: dict[Key, list[float]] = {key: [] for key in keys}
    for _ in range(rounds):
        for key in keys:
            found[key].append(measure(key))
    return {key: median(values) for key, values in found.items()}


def ratio(value: float, base: float) -> str:
    """How many times the base; a dash where there is no base."""
    if not base:
        return "-"
    found = value / base
    return f"{found:.2f} x" if found >= 0.1 else f"{found:.4f} x"


def percentile(values: Iterable[float], share: float) -> float:
    """The value below which this share of the values is.

    :raises ValueError: when there is none
    """
    ordered = sorted(values)
    if not ordered:
        raise ValueError("there are no values")
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]
