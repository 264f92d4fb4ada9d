"""The operating system's values for the process and the machine, under the names that the collector's rules read."""

from __future__ import annotations

from collections.abc import Callable

import psutil

from ..record.meters.samples import Sample, SingleSample


class ProcessMeters:
    """Processor, memory and threads. Reads a few files of the system, never waits for it."""

    def __init__(self) -> None:
        """:raises psutil.Error: when the system shows nothing of the process"""
        self._process = psutil.Process()
        # each share is of the time since the call before, so the first call only starts the clock
        self._process.cpu_percent(interval=None)
        self._times = _busy_and_all()

    def collect(self) -> list[Sample]:
        """One sample each. Values that the system does not show are left out."""
        samples: list[Sample] = []
        with self._process.oneshot():
            _add(samples, "instance_pvm_total_cpu_utilization", self._total_cpu)
            _add(samples, "instance_pvm_process_cpu_utilization", lambda: self._process.cpu_percent(interval=None))
            _add(samples, "instance_pvm_total_mem_utilization", lambda: psutil.virtual_memory().percent)
            _add(samples, "instance_pvm_process_mem_utilization", self._process.memory_percent)
            _add(samples, "swagent_memory", lambda: self._process.memory_info().rss)
            _add(samples, "instance_pvm_thread_active_count", self._process.num_threads)
        return samples

    def _total_cpu(self) -> float:
        # not psutil.cpu_percent(): it remembers its last call per process, and the application may call it too
        (busy_before, all_before), self._times = self._times, _busy_and_all()
        busy, everything = self._times[0] - busy_before, self._times[1] - all_before
        return min(100.0, max(0.0, 100.0 * busy / everything)) if everything > 0 else 0.0


def _add(samples: list[Sample], name: str, ask: Callable[[], float]) -> None:
    try:
        samples.append(SingleSample(name, (), float(ask())))
    except (psutil.Error, OSError, ValueError):
        return


def _busy_and_all() -> tuple[float, float]:
    """Seconds that the machine's processors have worked, and all their seconds, since it started."""
    times = psutil.cpu_times()
    counted_twice = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
    everything = sum(times) - counted_twice
    return everything - times.idle - getattr(times, "iowait", 0.0), everything
