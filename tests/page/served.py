"""The collector itself, for what real agents report and what files bring."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import swagent
from swagent.config import Config
from swagent.testing import RunningCollector


class Served:
    """The collector, as the tabs want their server."""

    def __init__(self, running: RunningCollector) -> None:
        self.running = running
        self.url = f"http://{running.page_address}"

    def wait(self, condition: Callable[[RunningCollector], object]) -> None:
        """In a thread: the browser's library has an event loop in this one."""
        with ThreadPoolExecutor(1) as pool:
            pool.submit(self.running.wait, condition, 20.0).result()

    def report(self, service: str, record: Callable[[], object]) -> object:
        """Let an agent of that service live for as long as this records, and until it has confirmed that."""
        address = self.running.address
        swagent.start(Config(service=service, collector=address, meter_reporter_period=0.5))
        try:
            found = record()
            self.wait(lambda arrived: _is_settled(arrived, service))
        finally:
            swagent.stop()
        return found


def _is_settled(arrived: RunningCollector, service: str) -> bool:
    """The agent knows, and has reported, that its segment arrived."""
    return any(
        each.value
        for each in arrived.meters
        if (each.service, each.name) == (service, "swagent_records_confirmed") and ("signal", "segment") in each.labels
    )
