"""Both implementations make the same bytes of the same requests, logs and spans, and applications see the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.seeds import session_seed
from native.comparison import compare
from native.run import LOOPS

pytestmark = pytest.mark.timeout(300)
# `python -m native.run --count 100000` draws more
COUNT = 1200


@pytest.mark.native
@pytest.mark.parametrize("loop", LOOPS)
def test_python_and_the_accelerator_agree(clock: Path, loop: str) -> None:
    found = compare(COUNT, session_seed(), loop, clock=clock)
    assert found.difference == ""
    assert found.implementations == ("Python (SW_AGENT_NATIVE is off)", "the accelerator")
    assert found.frames["s"] > COUNT / 5
    assert found.frames["l"] > COUNT / 10


@pytest.mark.native
@pytest.mark.parametrize("loop", LOOPS)
def test_a_run_repeats_itself(clock: Path, loop: str) -> None:
    """Else a difference would say nothing of the accelerator."""
    assert compare(400, session_seed(), loop, ("off", "off"), clock=clock).difference == ""


@pytest.mark.native
def test_a_difference_is_found(clock: Path, tmp_path: Path) -> None:
    """One byte in one process: the port of a peer."""
    planted = tmp_path / "planted"
    planted.mkdir()
    (planted / "sitecustomize.py").write_text(PLANTED)
    found = compare(400, 1, natives=("off", "off"), clock=clock, others=({}, {"PYTHONPATH": str(planted)}))
    one, other = (line for line in found.difference.splitlines() if line.startswith(("one:", "other:")))
    assert one.replace("5000", "5009").partition(":")[2].strip() == other.partition(":")[2].strip()


PLANTED = """
from native import draws
first, *others = draws.CLIENTS
draws.CLIENTS[:] = [(first[0], 5009), *others]
"""
