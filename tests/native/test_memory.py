"""Requests give back the memory that they take, and an allocation that fails costs no process and no record of another
request."""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from native.comparison import preloading
from native.processes import run_by

pytestmark = [pytest.mark.native, pytest.mark.timeout(900)]
IMPLEMENTATIONS = ("off", "auto")
# the measurement's own
SLACK = 60
REPEAT = """
import sys
from native.one_request import memory, repeat
differences = repeat(20_000)
before = memory()
differences |= repeat(int(sys.argv[1]))
import json
print(json.dumps([differences, memory() - before]))
"""


@pytest.mark.parametrize("count", [40_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("native", IMPLEMENTATIONS)
def test_requests_leave_nothing_behind(clock: Path, native: str, count: int) -> None:
    """By the interpreter's count of blocks, the collector's of objects, and the references to what lives long. On a
    clock that does not move: no cache of times fills up."""
    if "SWAGENT_TESTS_ASAN" in os.environ:
        pytest.skip("a build that looks for wrong accesses keeps what is freed")
    differences, grown = json.loads(run_by(native, "-c", REPEAT, str(count), **preloading(clock)))
    before, after = differences.pop("blocks", (0, 0))
    assert differences == {}
    assert after - before < SLACK
    assert grown < 3_000_000


def test_each_allocation_may_fail(clock: Path) -> None:
    """The accelerator adds no kind of outcome, and no application gets more of the errors."""
    if find_spec("_testcapi") is None:
        pytest.skip("this Python has no _testcapi")
    pure, native = (json.loads(run_by(each, "-m", "native.starving", **preloading(clock))) for each in IMPLEMENTATIONS)
    for kind, outcomes in native.items():
        assert "next is lost" not in outcomes
        assert outcomes["next is recorded"] > 100
        assert outcomes.keys() <= {*pure[kind], "SystemError"}
        assert outcomes["MemoryError"] <= pure[kind]["MemoryError"] + 5, (native, pure)
