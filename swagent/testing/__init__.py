"""For tests: collectors that keep what reached them, and the promises that every transport keeps.

`collector()` runs the embedded collector, for tests of an application's instrumentation:

    async with collector() as arrived:
        async with Agent(Config(service="shop", collector=arrived.address)):
            ...
        await arrived.wait_for(lambda arrived: arrived.spans)

`MemoryCollector` stands in for collector and transport: no port, no thread, and it misbehaves as told.
`check_transport` is the conformance suite for the authors of transports.
"""

from __future__ import annotations

from .collecting import Arrived, RunningCollector, collector
from .conformance import Behaviour, MemoryCollector, MemoryTransport, Peer, check_transport

__all__ = [
    "Arrived",
    "Behaviour",
    "MemoryCollector",
    "MemoryTransport",
    "Peer",
    "RunningCollector",
    "check_transport",
    "collector",
]
