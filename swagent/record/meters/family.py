"""The common definition of all series of one name, and the replacement of a series that finds no room."""

from __future__ import annotations

from typing import NamedTuple

from .samples import Labels
from .series import CounterSeries

_SERIES_BYTES = 40
_LABEL_BYTES = 8
_BUCKET_BYTES = 24


class Family(NamedTuple):
    """A meter's definition without its labels. There is one for each name."""

    name: str
    kind: str
    """`counter`, `gauge` or `histogram`."""
    mode: str = ""
    """A counter's."""
    bounds: tuple[float, ...] = ()
    """A histogram's."""

    @property
    def described(self) -> str:
        """Everything but the name, for people."""
        mode = f" with the mode {self.mode}" if self.mode else ""
        return f"a {self.kind}{mode}" + (f" with the buckets {self.bounds}" if self.bounds else "")

    def size_with(self, labels: Labels) -> int:
        """The most bytes that a series with these labels takes on the wire."""
        texts = [self.name, *(text for label in labels for text in label)]
        size = sum(len(text.encode("utf-8", "replace")) for text in texts)
        return size + _SERIES_BYTES + _LABEL_BYTES * len(labels) + _BUCKET_BYTES * len(self.bounds)


class Stray:
    """Replaces the series that found no room. It counts calls and not amounts, since a sum over different meters has no
    meaning."""

    def __init__(self, kind: str) -> None:
        self.count = CounterSeries("swagent_meter_overflow", (("_overflow", "true"), ("kind", kind)))

    def add(self, amount: float = 1.0) -> None:  # noqa: ARG002  (see above)
        """Count a call."""
        self.count.add(1.0)

    observe = add
