"""A counting collector in a process of its own: `python -m stress.collectors KIND PORT [--wait SECONDS]`.

Prints `listening`, then its counts by path as one line of JSON for each line that it reads and at
the end of its input, which is its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Callable

from .http1 import HttpCollector
from .http2 import GrpcCollector
from .otlp import count_records


async def serve(kind: str, port: int, wait: float) -> None:
    """Serve until the input ends."""
    counts: dict[str, int] = {}
    kinds: dict[str, Callable[[], asyncio.Protocol]] = {
        "grpc": lambda: GrpcCollector(counts, wait),
        "otlp": lambda: GrpcCollector(counts, wait, count_records),
        "http": lambda: HttpCollector(counts, wait),
    }
    loop = asyncio.get_running_loop()
    if kind == "kafka":
        # not for all: it needs aiokafka
        from .kafka import KafkaCollector

        await KafkaCollector(counts, wait, port).start()
    else:
        await loop.create_server(kinds[kind], "127.0.0.1", port)
    print("listening", flush=True)
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while await lines.readline():
        print(json.dumps(counts), flush=True)
    # nothing is counted any more after this: the loop does not go round again
    print(json.dumps(counts), flush=True)


def main() -> None:
    """Parse the command line, and serve."""
    parser = argparse.ArgumentParser(prog="python -m stress.collectors", description=__doc__)
    parser.add_argument("kind", choices=("grpc", "http", "kafka", "otlp"))
    parser.add_argument("port", type=int)
    parser.add_argument("--wait", type=float, default=0.0, help="seconds before each answer")
    arguments = parser.parse_args()
    serving = serve(arguments.kind, arguments.port, arguments.wait)
    try:
        import uvloop
    except ImportError:
        asyncio.run(serving)
    else:
        uvloop.run(serving)


if __name__ == "__main__":
    main()
