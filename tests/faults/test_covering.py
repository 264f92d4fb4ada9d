"""The matrix counts a test in CI only where it is not skipped."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SKIPPED = """
import pytest
from faults.covering import covers

@covers("F01", "grpc", "trio")
def test_counted():
    pytest.skip("not here")

def test_not_counted():
    pytest.skip("not here")
"""


@pytest.mark.slow
@pytest.mark.parametrize(("in_ci", "outcome"), [("true", "1 failed, 1 skipped"), ("", "2 skipped")])
def test_in_ci_a_test_that_counts_may_not_be_skipped(tmp_path: Path, in_ci: str, outcome: str) -> None:
    (tmp_path / "test_here.py").write_text(SKIPPED)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = covers\n")
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "CI": in_ci, "PYTEST_ADDOPTS": ""}
    command = [sys.executable, "-m", "pytest", "-p", "faults.counted", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert outcome in done.stdout, done.stdout + done.stderr
