"""Scripts whose stdin, stdout and stderr are closed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import os, sys
from pathlib import Path

import swagent.agent
from swagent import Config
from swagent.testing import MemoryCollector

collector = MemoryCollector()
swagent.agent.find_transport = lambda _: collector.transport
swagent.start(Config(service="shop", backend=sys.argv[1]))
with swagent.local_span("job"):
    pass
taken = [each for each in (0, 1, 2) if os.path.exists(f"/proc/self/fd/{each}")]
statistics = swagent.stop()
Path(sys.argv[2]).write_text(f"{taken} {statistics.complete}")
"""


@pytest.mark.gate
@pytest.mark.skipif(sys.platform != "linux", reason="looks at its descriptors in /proc")
@pytest.mark.parametrize("backend", ["auto", "asyncio", "trio"])
def test_no_descriptor_of_a_loop_takes_the_place_of_a_closed_one(tmp_path: Path, backend: str) -> None:
    said = tmp_path / "said"
    command = f'exec "{sys.executable}" -c "$0" {backend} "{said}" <&- >&- 2>&-'
    done = subprocess.run(["sh", "-c", command, SCRIPT], timeout=30, check=False)
    assert done.returncode == 0
    assert said.read_text() == "[] True"
