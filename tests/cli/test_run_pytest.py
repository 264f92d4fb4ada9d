"""pytest under `swagent run`: it sees and says what it does without the agent."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cli.conftest import Run

TEST = """
import pytest

@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_it(anyio_backend):
    assert 1 + 1 == 2
"""
WARNING = "Module already imported so cannot be rewritten"


@pytest.mark.parametrize(
    ("options", "conftest"),
    [
        ("", ""),
        ("-W error", ""),
        ("-W error", 'pytest_plugins = ["swagent.testing.plugin"]'),
        ("-p swagent.testing.plugin -W error", ""),
        ("-n 1 -W error", ""),
    ],
    ids=["plain", "warnings are errors", "our plugin", "our plugin on the command line", "xdist"],
)
def test_pytest_does_not_warn_of_what_the_agent_has_imported(
    swagent: Run, tmp_path: Path, options: str, conftest: str
) -> None:
    (tmp_path / "test_it.py").write_text(TEST)
    (tmp_path / "conftest.py").write_text(conftest)
    result = swagent("run", "--", sys.executable, "-m", "pytest", *options.split())
    assert result.returncode == 0, result.stdout + result.stderr
    assert "1 passed" in result.stdout
    assert "warning" not in result.stdout
    assert WARNING not in result.stdout + result.stderr


def test_pytest_still_warns_of_what_another_plugin_has_imported(swagent: Run, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TEST)
    (tmp_path / "sitecustomize.py").write_text("import anyio")
    result = swagent("run", "--", sys.executable, "-m", "pytest", PYTHONPATH=str(tmp_path))
    assert result.returncode == 0, result.stdout + result.stderr
    assert WARNING in result.stdout


def test_the_plugins_that_the_agent_did_not_import_are_rewritten(swagent: Run, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_it(anyio_plugin): assert anyio_plugin")
    (tmp_path / "conftest.py").write_text("""
import sys, pytest
@pytest.fixture
def anyio_plugin():
    return type(sys.modules["anyio.pytest_plugin"].__loader__).__name__ == "AssertionRewritingHook"
""")
    result = swagent("run", "--", sys.executable, "-m", "pytest")
    assert result.returncode == 0, result.stdout + result.stderr
