"""For how long floods hold the collector up: `python -m stress.flood`.

The collector is a process of its own. While a flood is under way, its page is asked for its state again and again; the
longest wait is printed, and the greatest memory.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import httpx
from grpclib.client import Channel
from grpclib.const import Cardinality
from grpclib.exceptions import GRPCError

from stress.intake import send
from swagent.collector.intake.codec import RawCodec
from swagent_proto import messages as wire

Flood = Callable[[], Awaitable[object]]


def _memory(pid: int, name: str = "VmHWM") -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith(name))) // 1024


async def _watch(url: str, flood: Flood) -> tuple[float, float]:
    """How long the flood took, and the longest wait for an answer meanwhile; seconds."""
    longest = 0.0
    async with httpx.AsyncClient(trust_env=False, timeout=120) as client:
        await client.get(f"{url}/api/status")
        began = time.monotonic()
        task = asyncio.ensure_future(flood())
        while not task.done():
            asked = time.monotonic()
            await client.get(f"{url}/api/status")
            longest = max(longest, time.monotonic() - asked)
            await asyncio.sleep(0.005)
        task.result()
        return time.monotonic() - began, longest


def _post(url: str, body: bytes) -> Flood:
    async def flood() -> None:
        async with httpx.AsyncClient(trust_env=False, timeout=120) as client:
            answer = await client.post(f"http://{url}/v3/segments", content=body)
            print(f"  {answer.status_code} {answer.text[:80]}")

    return flood


def _meters(channel: Channel) -> Flood:
    first = bytes(
        wire.MeterData(single_value=wire.MeterSingleValue("m", [], 1.0), service="s", service_instance="i", timestamp=1)
    )
    data = b"\x0a" + bytes([len(first)]) + first + b"\x0a\x00" * 500_000
    path = "/skywalking.v3.MeterReportService/collectBatch"

    async def flood() -> None:
        with suppress(GRPCError):
            async with channel.request(path, Cardinality.STREAM_UNARY, bytes, bytes, timeout=120) as stream:
                await stream.send_request()
                await stream.send_message(data)
                await stream.end()
                await stream.recv_message()

    return flood


def _half_sent(url: str) -> Flood:
    async def flood() -> None:
        host, port = url.rsplit(":", 1)
        writers: list[asyncio.StreamWriter] = []
        for _ in range(20):
            _, writer = await asyncio.open_connection(host, int(port))
            head = b"POST /v3/segments HTTP/1.1\r\nhost: a\r\ncontent-length: 16000000\r\n\r\n"
            with suppress(OSError):
                writer.write(head + b" " * 15_000_000)
                await asyncio.wait_for(writer.drain(), 10)
            writers.append(writer)
        for writer in writers:
            writer.close()

    return flood


async def _large_trace(channel: Channel) -> None:
    """90,000 spans."""
    for part in range(90):
        spans = [wire.SpanObject(number, number - 1, 1, 2, [], "x") for number in range(1000)]
        await send(channel, [bytes(wire.SegmentObject("large", f"large-{part}", spans, "shop", "i"))])


async def _measure() -> None:
    command = [sys.executable, "-m", "swagent", "collector", "--quiet"]
    command += ["--port", "0", "--http-port", "0", "--page-port", "0"]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    lines = [(await process.stdout.readline()).decode() for _ in range(6)]
    address, page, intake = lines[0].split()[-1], lines[2].strip().rstrip("/"), lines[5].split("=")[1].split()[0]
    host, port = address.rsplit(":", 1)
    async with Channel(host, int(port), codec=RawCodec()) as channel:
        await _large_trace(channel)

        async def look() -> None:
            async with httpx.AsyncClient(trust_env=False, timeout=120) as client:
                await client.get(f"{page}/api/traces/large")

        floods: dict[str, Flood] = {
            "300,000 empty objects": _post(intake, b"[" + b"{}," * 299_999 + b"{}]"),
            "8 MiB of empty objects": _post(intake, b"[" + b"{}," * 2_796_000 + b"{}]"),
            "9,000 segments of 10 spans": _post(intake, b"[" + _segments(9000) + b"]"),
            "500,000 meters in one message": _meters(channel),
            "a look at 90,000 spans": look,
            "20 half-sent bodies": _half_sent(intake),
        }
        for name, flood in floods.items():
            before = _memory(process.pid, "VmRSS")
            took, longest = await _watch(page, flood)
            print(f"{name}: {took:.2f} s, longest wait {longest * 1000:.0f} ms, {before} MiB before, "
                  f"{_memory(process.pid)} MiB at most so far", flush=True)  # fmt: skip
        flooding = asyncio.ensure_future(_post(intake, b"[" + _segments(9000) + b"]")())
        await asyncio.sleep(0.3)
        began = time.monotonic()
        process.terminate()
        await process.wait()
        print(f"SIGTERM amid a flood: ended after {time.monotonic() - began:.2f} s")
        with suppress(httpx.HTTPError):
            await flooding


def _segments(count: int) -> bytes:
    span = '{"spanId":%d,"parentSpanId":-1,"startTime":1,"endTime":2,"operationName":"/a"}'
    spans = ",".join(span % number for number in range(10))
    one = '{"traceId":"t%d","traceSegmentId":"s%d","service":"shop","serviceInstance":"i","spans":[' + spans + "]}"
    return ",".join(one % (number, number) for number in range(count)).encode()


if __name__ == "__main__":
    asyncio.run(_measure())
