"""A collector in a process of its own that writes down the id of every segment it gets, so that it can be killed.

python counting_collector.py PORT FILE
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from swagent.collector.server import Collector
from swagent.collector.store.trace_records import Segment


async def main(port: int, ids: Path) -> None:
    """Serve until killed."""
    with ids.open("a", buffering=1) as file:
        async with Collector(port=port) as collector:

            def note(record: object) -> None:
                if isinstance(record, Segment):
                    file.write(f"{record.segment_id}\n")

            collector.store.subscribe(note)
            print("listening", flush=True)
            await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), Path(sys.argv[2])))
