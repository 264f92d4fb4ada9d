"""The output of wrk is read as it is meant, and a rate of failed requests is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from stress.compare.wrk import WrkError, find_wrk, parse

OUTPUT = """\
Running 2s test @ http://127.0.0.1:8000/trivial
  1 threads and 32 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     2.13ms  512.40us   1.02s    92.14%
    Req/Sec    15.12k     1.01k   16.50k    75.00%
  Latency Distribution
     50%  981.00us
     75%    2.20ms
     90%    2.41ms
     99%    3.95ms
  30090 requests in 2.00s, 3.90MB read
Requests/sec:  15040.27
Transfer/sec:      1.95MB
"""


def test_every_figure_comes_in_one_unit() -> None:
    found = parse(OUTPUT)
    assert found.qps == 15040.27
    assert found.throughput == 1.95 * 2**20
    assert (found.mean, round(found.p50, 3), found.p99) == (2.13, 0.981, 3.95)
    assert found.longest == pytest.approx(1020)
    assert found.requests == 30090


@pytest.mark.parametrize(
    "line", ["  Socket errors: connect 0, read 12, write 0, timeout 3", "  Non-2xx or 3xx responses: 30090"]
)
def test_failed_requests_are_no_rate(line: str) -> None:
    with pytest.raises(WrkError, match=line.split(":")[0].strip()):
        parse(OUTPUT.replace("Requests/sec", f"{line}\nRequests/sec"))


def test_output_of_another_kind_is_named() -> None:
    with pytest.raises(WrkError, match="wrk printed no"):
        parse(OUTPUT.replace("99%", "98%"))


def test_without_wrk_the_error_names_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(WrkError, match="install the package wrk"):
        find_wrk()
