"""Each file of `pure/`, run by Node's own test runner."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from javascript.conftest import ENVIRONMENT, NODE

FILES = sorted((Path(__file__).parent / "pure").glob("*.test.js"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_pure_module(file: Path) -> None:
    found = subprocess.run(
        [NODE, "--test", "--test-reporter=tap", str(file)], env=ENVIRONMENT, capture_output=True, text=True
    )
    assert found.returncode == 0, found.stdout + found.stderr
    # an empty file passes, too
    assert "\n# pass 0\n" not in found.stdout
