"""Where the accelerator may not run: other interpreters of the process, and builds without the lock."""

from __future__ import annotations

from pathlib import Path

import pytest

from native.processes import run_by

# Of the main interpreter, of one that has a lock of its own where there is such a thing, and of one that shares it.
INTERPRETERS = """
import importlib, sys
from swagent import acceleration
print(acceleration.describe())
name = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
interpreters = importlib.import_module(name)
own = ("isolated", "legacy") if sys.version_info >= (3, 13) else ({"isolated": True}, {"isolated": False})
for each in own:
    there = interpreters.create(each) if isinstance(each, str) else interpreters.create(**each)
    failed = interpreters.run_string(there, '''
import sys
sys.path[:] = PATH
from swagent import acceleration
with open(OUT, "a") as out:
    out.write(acceleration.describe() + "\\\\n")
'''.replace("PATH", repr(sys.path)).replace("OUT", repr(sys.argv[1])))
    assert failed is None, failed
    interpreters.destroy(there)
print(acceleration.describe())
"""


@pytest.mark.native
def test_another_interpreter_of_the_process_runs_python(tmp_path: Path) -> None:
    out = tmp_path / "said"
    main = run_by("auto", "-c", INTERPRETERS, str(out))
    assert main.splitlines() == ["the accelerator", "the accelerator"]
    said = out.read_text().splitlines()
    assert len(said) == 2
    for each in said:
        assert each.startswith("Python (swagent-native cannot be loaded: "), said
