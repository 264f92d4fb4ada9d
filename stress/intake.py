"""How many segments the collector takes in a second of its processor time, over gRPC: `python -m stress.intake`.

The client sends bytes that it made before, in streams of 500 segments, four at a time. So it costs little, and the
collector is the one that works.
"""

# ruff: noqa: SLF001

from __future__ import annotations

import argparse
import asyncio
import os
import struct
import sys
import time
from pathlib import Path

from grpclib.client import Channel
from grpclib.const import Cardinality

from swagent.collector.intake.codec import RawCodec
from swagent_proto import messages as wire

BATCH = 500
STREAMS = 4
_TICKS = os.sysconf("SC_CLK_TCK")


_PLACE = "00000000"


def _template() -> bytes:
    """A request that asks a database: two spans, about 420 bytes; a place in it is for a number."""
    now = int(time.time() * 1000)
    tags = [wire.KeyStringValuePair("http.method", "GET"), wire.KeyStringValuePair("http.status_code", "200")]
    inner = [wire.KeyStringValuePair("db.type", "postgresql"), wire.KeyStringValuePair("db.statement", "SELECT 1")]
    spans = [
        wire.SpanObject(1, 0, now + 1, now + 4, [], "PostgreSQL/SELECT", "db:5432", wire.SpanType(1), tags=inner),
        wire.SpanObject(0, -1, now, now + 55, [], "GET:/orders/{item}", tags=tags),
    ]
    trace = f"0123456789abcdef01234567.1.{_PLACE}"
    instance = "0123456789abcdef0123456789abcdef@10.0.0.1"
    return bytes(wire.SegmentObject(trace, f"{trace}.1111111111111111", spans, "orders", instance))


_TEMPLATE = _template()


def segment(number: int) -> bytes:
    """The segment of that number."""
    return _TEMPLATE.replace(_PLACE.encode(), b"%08d" % number)


async def send(channel: Channel, messages: list[bytes]) -> None:
    """Send segments in one stream, and wait for the answer."""
    path = "/skywalking.v3.TraceSegmentReportService/collect"
    async with channel.request(path, Cardinality.STREAM_UNARY, bytes, bytes, timeout=120) as stream:
        await stream.send_request()
        framed = b"".join(struct.pack(">?I", False, len(message)) + message for message in messages)
        await stream._stream.send_data(framed)  # one message a frame would measure HTTP/2
        await stream.end()
        await stream.recv_message()


async def load(address: str, first: int, count: int) -> None:
    """Send that many segments, numbered from the first."""
    host, port = address.rsplit(":", 1)

    async def lane(lane_number: int) -> None:
        async with Channel(host, int(port), codec=RawCodec()) as channel:
            for start in range(first + lane_number * BATCH, first + count, BATCH * STREAMS):
                await send(channel, [segment(number) for number in range(start, start + BATCH)])

    await asyncio.gather(*map(lane, range(STREAMS)))


def processor_seconds(pid: int) -> float:
    """The seconds of processor time that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


async def _measure(args: argparse.Namespace) -> None:
    command = [sys.executable, "-m", "swagent", "collector", "--quiet", "--port", "0", "--http-port", "0"]
    command += ["--page-port", "0", *(["--store", args.store] if args.store else [])]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    try:
        address = (await process.stdout.readline()).decode().split()[-1]
        await load(address, 0, 20_000)
        for round_number in range(args.rounds):
            first = (round_number + 1) * args.segments
            before, began = processor_seconds(process.pid), time.monotonic()
            await load(address, first, args.segments)
            took = processor_seconds(process.pid) - before
            wall = time.monotonic() - began
            print(f"{args.segments / took:,.0f} segments a processor second, {args.segments / wall:,.0f} by the clock")
    finally:
        process.terminate()
        await process.wait()


def main() -> None:
    """Measure, and print a line a round."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--segments", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--store", default="", metavar="FILE")
    asyncio.run(_measure(parser.parse_args()))


if __name__ == "__main__":
    main()
