"""The example in docs/testing.md, run as it is there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

_PAGE = Path(__file__).parents[2] / "docs" / "testing.md"


def test_the_example_passes(tmp_path: Path) -> None:
    files = dict(re.findall(r"```python\n# (\w+\.py)\n(.*?)```", _PAGE.read_text("utf-8"), re.DOTALL))
    assert set(files) == {"conftest.py", "test_orders.py", "test_budgets.py"}
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    options = ("-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path))
    command = [sys.executable, "-m", "pytest", *options, str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=50, check=False)
    assert "4 passed" in done.stdout, done.stdout + done.stderr
