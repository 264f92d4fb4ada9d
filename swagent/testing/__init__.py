"""For tests: collectors that keep what reached them, and the promises that every transport keeps.

`collector()` runs the embedded collector, for tests of an application's instrumentation:

    async with collector() as arrived:
        async with Agent(Config(service="shop", collector=arrived.address)):
            ...
        await arrived.wait_for(lambda arrived: arrived.spans)

`MemoryCollector` replaces collector and transport. It needs no port and no thread, and misbehaves as the test demands.
`load_traces` reads a file that the collector's page made, and `outline` is what two runs of a request have in common.
`check_transport` is the conformance suite for the authors of transports.
"""

from __future__ import annotations

from .collecting import Arrived, RunningCollector, collector
from .conformance import Behaviour, MemoryCollector, MemoryTransport, Peer, check_transport
from .trace_file import LoadedTraces, load_traces, outline

__all__ = [
    "Arrived",
    "Behaviour",
    "LoadedTraces",
    "MemoryCollector",
    "MemoryTransport",
    "Peer",
    "RunningCollector",
    "check_transport",
    "collector",
    "load_traces",
    "outline",
]
