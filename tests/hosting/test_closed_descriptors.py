"""An application that closes all descriptors lives, and so does its agent."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from kit.servers import collector_thread

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs a list of open descriptors")

BACKENDS = ["asyncio", "uvloop", "trio"]
SCRIPT = """
import os, sys
import swagent

agent = swagent.start(swagent.Config(backend=sys.argv[1], collector=sys.argv[2], service="daemon"))
with swagent.local_span("before"):
    pass
{closing}
with swagent.local_span("after"):
    pass
statistics = swagent.stop()
assert statistics.complete, statistics
print("lives", statistics.segment.confirmed)
"""


def run(backend: str, address: str, closing: str) -> tuple[str, str]:
    """Returns what it printed and what it logged."""
    command = [sys.executable, "-c", SCRIPT.format(closing=closing), backend, address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr)
    return done.stdout, done.stderr


@pytest.mark.parametrize("backend", BACKENDS)
def test_all_are_closed_and_another_agent_starts(backend: str) -> None:
    with collector_thread() as (collector, _):
        out, err = run(backend, collector.address, "os.closerange(3, 256)")
        operations = sorted(span.operation for segment in collector.store.segments for span in segment.spans)
    assert operations == ["after", "before"]
    assert out == "lives 1\n"
    assert err.count("the agent starts anew") == 1
    assert "Traceback" not in err


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_range_without_an_open_one_changes_nothing(backend: str) -> None:
    with collector_thread() as (collector, _):
        out, err = run(backend, collector.address, "os.closerange(5000, 5010); os.closerange(10, 3)")
    assert (out, err.count("anew")) == ("lives 2\n", 0)


def test_wrong_arguments_fail_as_ever_and_stop_nothing() -> None:
    closing = """
for arguments in [(), (3,), (3, "x"), (3.5, 9), (3, 2**70)]:
    try:
        os.closerange(*arguments)
    except (TypeError, OverflowError) as error:
        print(type(error).__name__)
"""
    with collector_thread() as (collector, _):
        out, err = run("asyncio", collector.address, closing)
    assert out.split() == ["TypeError"] * 4 + ["OverflowError", "lives", "2"]
    assert "anew" not in err


def test_after_the_stop_it_is_the_systems_function_again() -> None:
    with collector_thread() as (collector, _):
        out, _ = run(
            "asyncio",
            collector.address,
            "close = os.closerange; swagent.stop(); print(os.closerange is close);"
            "swagent.start(swagent.Config(collector=sys.argv[2]))",
        )
    assert out.split() == ["False", "lives", "1"]
