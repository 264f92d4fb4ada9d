"""How much a store keeps, and for how long."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Limits:
    """The bounds of a store.

    :ivar segments: how many segments are kept
    :ivar logs: how many log lines
    :ivar points: how many values of meters, of all series together
    :ivar series: how many series
    :ivar snapshots: how many stacks of profiles
    :ivar others: how many instances and services, events, and other records
    :ivar max_age: seconds after its arrival for which a record is kept; None: as long as there is room
    """

    segments: int = 50_000
    logs: int = 50_000
    points: int = 200_000
    series: int = 5_000
    snapshots: int = 20_000
    others: int = 5_000
    max_age: float | None = None

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name != "max_age" and value < 1:
                raise ValueError(f"a store keeps at least 1 record, not {value}")
        if self.max_age is not None and not self.max_age > 0:
            raise ValueError(f"a store keeps records longer than {self.max_age} s")

    def narrowed(self, segments: int | None, records: int | None) -> Limits:
        """The same bounds, but for the number of segments and that of everything else, where they are given."""
        changed = self if segments is None else dataclasses.replace(self, segments=segments)
        if records is None:
            return changed
        return dataclasses.replace(
            changed, logs=records, points=max(records, 1) * 10, series=records, snapshots=records, others=records
        )
