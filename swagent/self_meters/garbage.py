"""The meters of the garbage collector, under the names that the collector's rules read."""

from __future__ import annotations

import gc

from ..inspection.garbage_time import garbage_time
from ..record.meters.samples import Sample, SingleSample


class GcMeters:
    """How often each generation was collected, and how long collecting took. On PyPy, which has no three generations,
    how long only."""

    def __init__(self) -> None:
        self._is_attached = False

    def attach(self) -> None:
        """Time each collection from now on. A second call does nothing."""
        if not self._is_attached:
            self._is_attached = True
            garbage_time.enter()

    def detach(self) -> None:
        """Time them no longer. A second call does nothing."""
        if self._is_attached:
            self._is_attached = False
            garbage_time.leave()

    def collect(self) -> list[Sample]:
        """Collections since the interpreter's start, and milliseconds spent in those that were timed. Both only grow:
        the collector's rule takes the increase of a minute."""
        samples: list[Sample] = []
        if garbage_time.is_known:
            samples += [
                SingleSample(f"instance_pvm_gc_g{generation}", (), float(stats["collections"]))
                for generation, stats in enumerate(gc.get_stats()[:3])
            ]
        return [*samples, SingleSample("instance_pvm_gc_time", (), garbage_time.total() * 1000)]
