"""For tests: collectors that keep what reached them, and the promises that every transport keeps.

`collector()` runs the embedded collector, for tests of an application's instrumentation:

    async with collector() as arrived:
        async with Agent(Config(service="shop", collector=arrived.address)):
            ...
        await arrived.wait_for(lambda arrived: arrived.spans)

`MemoryCollector` replaces collector and transport. It needs no port and no thread, and misbehaves as the test demands.
`load_traces` reads a file that the collector's page made, and `outline` is what two runs of a request have in common.
`check_transport` is the conformance suite for the authors of transports.
`Trace` is the fixture `trace` of pytest, which fails tests by `BudgetError`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .budget_error import BudgetError
from .collecting import Arrived, RunningCollector, collector
from .conformance import Behaviour, MemoryCollector, MemoryTransport, Peer, check_transport
from .trace_file import LoadedTraces, load_traces, outline

if TYPE_CHECKING:
    from .tracing import Trace

__all__ = [
    "Arrived",
    "Behaviour",
    "BudgetError",
    "LoadedTraces",
    "MemoryCollector",
    "MemoryTransport",
    "Peer",
    "RunningCollector",
    "Trace",
    "check_transport",
    "collector",
    "load_traces",
    "outline",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """`Trace` is imported when it is first asked for: its needs are an extra."""
        if name != "Trace":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from .extra import needing_collector  # noqa: PLC0415, RUF100

        with needing_collector():
            from .tracing import Trace as Found  # noqa: PLC0415, RUF100
        return Found
