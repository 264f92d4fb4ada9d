"""The imports of the command line: an application waits for `swagent run` at each of its starts."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import swagent


def test_run_imports_neither_the_agent_nor_what_other_commands_need() -> None:
    code = (
        "import sys\n"
        "from swagent.cli import main\n"
        "assert main(['run', '--']) == 2\n"
        "print(*sys.modules)\n"
    )  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    imported = set(done.stdout.split())
    assert "swagent.startup.settings" in imported
    assert not imported & {
        "anyio",
        "argparse",
        "asyncio",
        "swagent.agent",
        "swagent.cli.doctor",
        "swagent.collector",
        "swagent.config",
        "swagent.record",
    }


def test_each_name_that_type_checkers_see_is_there() -> None:
    tree = ast.parse(Path(swagent.__file__).read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level]
    seen = {alias.name: f"swagent.{node.module}" for node in imports for alias in node.names}
    assert "Agent" in seen
    assert set(seen) <= set(dir(swagent))
    for name, module in seen.items():
        assert getattr(swagent, name) is getattr(import_module(module), name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = swagent.nothing  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
