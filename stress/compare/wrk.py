"""Saturation by `wrk`: as many requests as 32 connections can make, in a closed loop."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass

CONNECTIONS = 32
_UNITS = {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60_000.0}
_SIZES = {"B": 1.0, "KB": 1024.0, "MB": 1024.0**2, "GB": 1024.0**3}


class WrkError(Exception):
    """wrk is not there, or its run is void; the text says why."""


@dataclass(frozen=True)
class Saturation:
    """The results of wrk. Its latencies are of a closed loop: a stall holds the next request back and so hides itself.

    :ivar qps: answers a second
    :ivar throughput: bytes a second
    :ivar mean: milliseconds, as p50, p99 and longest
    """

    qps: float
    throughput: float
    mean: float
    p50: float
    p99: float
    longest: float
    requests: int


def find_wrk() -> str:
    """Where wrk is.

    :raises WrkError: it is not installed
    """
    found = shutil.which("wrk")
    if found is None:
        raise WrkError("wrk makes the load and is not on the PATH: install the package wrk (apt-get install wrk)")
    return found


def saturate(url: str, seconds: float) -> Saturation:
    """Load a URL for so many seconds, rounded up to whole ones, as wrk takes them.

    :raises WrkError: wrk failed, or a request did
    """
    duration = f"-d{max(1, round(seconds))}s"
    command = [find_wrk(), "-t1", f"-c{CONNECTIONS}", duration, "--latency", "--timeout", "10s", url]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise WrkError(f"wrk failed: {done.stderr or done.stdout}")
    return parse(done.stdout)


def parse(text: str) -> Saturation:
    """Read the output of `wrk --latency`.

    :raises WrkError: requests failed, so the rate is none
    """
    if failed := re.search(r"Socket errors: .*|Non-2xx or 3xx responses: .*", text):
        raise WrkError(f"requests failed: {failed[0]}")
    mean, _, longest = _find(r"^\s+Latency\s+(\S+)\s+(\S+)\s+(\S+)", text)
    return Saturation(
        qps=float(_find(r"^Requests/sec:\s+(\S+)", text)[0]),
        throughput=_scaled(_find(r"^Transfer/sec:\s+(\S+)", text)[0], _SIZES),
        mean=_scaled(mean, _UNITS),
        p50=_scaled(_find(r"^\s+50%\s+(\S+)", text)[0], _UNITS),
        p99=_scaled(_find(r"^\s+99%\s+(\S+)", text)[0], _UNITS),
        longest=_scaled(longest, _UNITS),
        requests=int(_find(r"^\s+(\d+) requests in", text)[0]),
    )


def _find(pattern: str, text: str) -> tuple[str, ...]:
    found = re.search(pattern, text, re.MULTILINE)
    if found is None:
        raise WrkError(f"wrk printed no {pattern!r}:\n{text}")
    return found.groups()


def _scaled(text: str, units: dict[str, float]) -> float:
    number, unit = _find(r"^([\d.]+)([A-Za-z]+)$", text)
    return float(number) * units[unit]
