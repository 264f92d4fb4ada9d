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
