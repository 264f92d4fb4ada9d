"""A collector that takes so many records a second of each connection: `python -m stress.pressure.sink PORT RATE`.

Says that it listens. From the first line on that it reads it takes all at once; at the end of its input it says which
traces came from which service.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections import defaultdict

from stress.collectors.http2 import GrpcCollector, count_messages

_SERVICE, _TRACE = re.compile(rb"shop-([0-9])"), re.compile(rb"trace-([0-9]{8})")
_AT_ONCE = 1e9
_SEGMENTS = b"/skywalking.v3.TraceSegmentReportService/collect"


class SlowCollector(GrpcCollector):
    """One connection, whose calls are confirmed one after the other."""

    def __init__(self, taken: defaultdict[int, set[int]], pace: list[float]) -> None:
        """
        :param taken: the numbers of the traces, by service
        :param pace: records a second, its only element
        """
        super().__init__({}, 0.0, self._note)
        self._taken_by = taken
        self._pace = pace
        self._free_at = 0.0
        self._seconds = 0.0

    def _note(self, path: bytes, body: bytearray) -> int:
        count = count_messages(path, body)
        self._seconds = 0.0
        if path == _SEGMENTS and count:
            service = _SERVICE.search(body)
            assert service is not None
            self._taken_by[int(service[1])].update(map(int, _TRACE.findall(body)))
            self._seconds = count / self._pace[0]
        return count

    def _end(self, stream: int) -> None:
        self._take_account(stream)
        if not self._seconds:
            self._confirm(stream)
            return
        loop = asyncio.get_running_loop()
        self._free_at = max(self._free_at, loop.time()) + self._seconds
        loop.call_at(self._free_at, self._confirm, stream)


async def serve(port: int, rate: float) -> None:
    """Serve until the input ends."""
    taken: defaultdict[int, set[int]] = defaultdict(set)
    pace = [rate]
    loop = asyncio.get_running_loop()
    await loop.create_server(lambda: SlowCollector(taken, pace), "127.0.0.1", port)
    print("listening", flush=True)
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while await lines.readline():
        pace[0] = _AT_ONCE
    print(json.dumps({service: sorted(traces) for service, traces in taken.items()}), flush=True)


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), float(sys.argv[2])))
