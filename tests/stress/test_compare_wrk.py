"""A rate of failed requests is none."""

from __future__ import annotations

import pytest

from stress.compare.wrk import WrkError, parse

OUTPUT = """\
    Latency     2.13ms  512.40us   1.02s    92.14%
     50%  981.00us
     99%    3.95ms
  30090 requests in 2.00s, 3.90MB read
{}Requests/sec:  15040.27
Transfer/sec:      1.95MB
"""


def test_failed_requests_are_no_rate() -> None:
    assert parse(OUTPUT.format("")).qps == 15040.27
    for line in ("  Socket errors: connect 0, read 12, write 0, timeout 3", "  Non-2xx or 3xx responses: 30090"):
        with pytest.raises(WrkError, match=line.split(":")[0].strip()):
            parse(OUTPUT.format(line + "\n"))
