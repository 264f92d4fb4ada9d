"""What the garbage collector does, under the names that the collector's rules read."""

from __future__ import annotations

import gc
import time
from collections.abc import Mapping
from typing import Any

from ..record.meters.samples import Sample, SingleSample


class GcMeters:
    """How often each generation was collected, and how long collecting took."""

    def __init__(self) -> None:
        self._started = 0.0
        self._spent = 0.0
        self._reported = 0.0

    def attach(self) -> None:
        """Be told of each collection from now on."""
        gc.callbacks.append(self._on_phase)

    def detach(self) -> None:
        """Be told no longer; twice is harmless."""
        if self._on_phase in gc.callbacks:
            gc.callbacks.remove(self._on_phase)

    def _on_phase(self, phase: str, info: Mapping[str, Any]) -> None:  # noqa: ARG002  (the interpreter's signature)
        now = time.perf_counter()
        if phase == "start":
            self._started = now
        elif self._started:  # else it was under way when we came
            self._spent += now - self._started
            self._started = 0.0

    def collect(self) -> list[Sample]:
        """Collections since the interpreter's start, and milliseconds spent since the report before."""
        samples: list[Sample] = [
            SingleSample(f"instance_pvm_gc_g{generation}", (), float(stats["collections"]))
            for generation, stats in enumerate(gc.get_stats()[:3])
        ]
        spent = self._spent
        milliseconds = (spent - self._reported) * 1000
        self._reported = spent
        return [*samples, SingleSample("instance_pvm_gc_time", (), milliseconds)]
