"""The matrix counts a test for the loop on which it runs, and in CI only one that is not skipped."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from faults.covering import cells_of, covers
from faults.matrix import NO_LOOP

SKIPPED = """
import pytest
from faults.covering import covers

@covers("F01", "grpc", "trio")
def test_counted():
    pytest.skip("not here")

def test_not_counted():
    pytest.skip("not here")
"""


def item(mark: pytest.MarkDecorator, **parameters: Any) -> Any:
    return SimpleNamespace(
        nodeid="test", callspec=SimpleNamespace(params=parameters), iter_markers=lambda name: [mark.mark]
    )


@pytest.mark.parametrize(
    ("mark", "parameters", "cell"),
    [
        (covers("F01", "grpc"), {"anyio_backend": ("asyncio", {"use_uvloop": True})}, ("grpc", "uvloop")),
        (covers("F01"), {"transport": "http", "anyio_backend": ("trio", {})}, ("http", "trio")),
        (covers("F01", "grpc", "trio"), {}, ("grpc", "trio")),
        (covers("F01", "grpc"), {"backend": "asyncio"}, ("grpc", "asyncio")),
        (covers("F01", "grpc"), {}, ("grpc", NO_LOOP)),
        (covers("C05"), {}, ("any", NO_LOOP)),
    ],
)
def test_a_test_counts_for_the_loop_on_which_it_runs(
    mark: pytest.MarkDecorator, parameters: dict[str, Any], cell: tuple[str, str]
) -> None:
    assert [found for _, found in cells_of(item(mark, **parameters))] == [cell]


@pytest.mark.slow
@pytest.mark.parametrize(("in_ci", "outcome"), [("true", "1 failed, 1 skipped"), ("", "2 skipped")])
def test_in_ci_a_test_that_counts_may_not_be_skipped(tmp_path: Path, in_ci: str, outcome: str) -> None:
    (tmp_path / "test_here.py").write_text(SKIPPED)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = covers\n")
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "CI": in_ci, "PYTEST_ADDOPTS": ""}
    command = [sys.executable, "-m", "pytest", "-p", "faults.counted", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert outcome in done.stdout, done.stdout + done.stderr
