"""The meters of the runtime: what the process, the garbage collector and the event loop are doing.

Everything is read when a report is made; between two reports nothing runs but the callback of the garbage collector.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..agent_log import say
from ..record.meters.samples import Sample, SingleSample
from .garbage import GcMeters

if TYPE_CHECKING:
    from .process import ProcessMeters


class RuntimeMeters:
    """One agent's. Attached and detached by its owner, in any thread."""

    def __init__(self, count_tasks: Callable[[], int] | None = None) -> None:
        """:param count_tasks: how many tasks live in the loop; called where `collect` is"""
        self._count_tasks = count_tasks
        self._gc = GcMeters()
        self._process: ProcessMeters | None = None

    def attach(self) -> None:
        """Watch the garbage collector."""
        self._gc.attach()

    def measure_process(self) -> None:
        """Measure processor and memory from here on: it takes an import of many milliseconds, and a second call does
        nothing. Never raises: if the system shows nothing about the process, only those meters are missing."""
        if self._process is not None:
            return
        try:
            # here, since psutil is missing where it has no wheels
            from .process import ProcessMeters  # noqa: PLC0415, RUF100

            self._process = ProcessMeters()
        except ModuleNotFoundError as error:
            say(logging.INFO, "no meters of the process: %s is not installed", error.name)
        except Exception as error:  # noqa: BLE001, RUF100  (psutil on a system that it does not know)
            say(logging.WARNING, "no meters of the process: %r", error)

    def detach(self) -> None:
        """Leave the interpreter as it was. Twice is harmless."""
        self._gc.detach()
        self._process = None

    def collect(self) -> list[Sample]:
        """One sample each."""
        samples = self._gc.collect()
        if self._process is not None:
            samples += self._process.collect()
        if self._count_tasks is not None:
            samples.append(SingleSample("swagent_tasks", (), float(self._count_tasks())))
        return samples
