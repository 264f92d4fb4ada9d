"""The generated modules are what the generator writes today, and a stale one is noticed."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("betterproto.plugin.main", reason="the generator needs the `dev` extra")

# The generator reads and writes much.
pytestmark = pytest.mark.timeout(300)

PROTO_GEN = Path(__file__).parents[2] / "proto_gen"


def check(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(folder / "generate.py"), "--check"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def stale_names(finished: subprocess.CompletedProcess[str]) -> set[str]:
    assert finished.returncode in {0, 1}, finished.stderr
    return {Path(line.split()[1]).name for line in finished.stdout.splitlines()}


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    return Path(shutil.copytree(PROTO_GEN, tmp_path / "proto_gen"))


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")


@pytest.mark.slow
def test_generated_files_are_current() -> None:
    finished = check(PROTO_GEN)
    assert (finished.returncode, finished.stdout) == (0, ""), "run: python proto_gen/generate.py"


@pytest.mark.slow
def test_a_changed_proto_makes_all_stale(copied: Path) -> None:
    replace(copied / "protocol" / "language-agent" / "Tracing.proto", "string peer = 7", "string peer = 17")
    (copied / "swagent_proto" / "wire_json.py").unlink()
    finished = check(copied)
    generated = {"wire.py", "messages.py", "wire_json.py", "descriptors.py"}
    assert (finished.returncode, stale_names(finished)) == (1, generated)


@pytest.mark.slow
def test_layout_alone_is_not_stale(copied: Path) -> None:
    """Another version of betterproto's formatter lays the same module out otherwise."""
    path = copied / "swagent_proto" / "messages.py"
    banner, _, code = path.read_text("utf-8").partition("\n")
    path.write_text(f"{banner}\n{ast.unparse(ast.parse(code))}\n", "utf-8")
    assert check(copied).returncode == 0


def test_importing_the_package_loads_no_library() -> None:
    code = (
        "import sys, swagent_proto, swagent_proto.wire, swagent_proto.wire_json; "
        "sys.exit(bool({'betterproto', 'grpclib', 'google.protobuf'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code]
    subprocess.run(command, check=True, env={"PYTHONPATH": str(PROTO_GEN)})
