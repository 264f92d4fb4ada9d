"""A tag, a kind or an operation that a library's file names and its tests no longer see fails a whole run of them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from instrument import collecting, libraries, modules

ROOT = Path(__file__).parents[2]
MODULE = "tests/instrument/test_neo4j.py"
CALL = "test_a_query_is_one_span"
# a plugin of pytest's
ELSEWHERE = """
from pathlib import Path
def pytest_configure():
    from instrument import collecting
    collecting.FOLDER = Path(__file__).parent
"""


def run(folder: Path, *arguments: str, mode: str = "") -> tuple[int, str]:
    """The tests, beside the files of another folder."""
    (folder / "elsewhere.py").write_text(ELSEWHERE)
    environ = {**os.environ, "PYTHONPATH": f"tests{os.pathsep}{folder}", "SWAGENT_TESTS_COLLECT": mode}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "elsewhere", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files, of which that of neo4j names a tag that is not collected."""
    pytest.importorskip("neo4j")
    copy = tmp_path / "collected"
    shutil.copytree(collecting.FOLDER, copy)
    path = copy / "neo4j.json"
    kinds = json.loads(path.read_text())
    kinds[0]["tags"].append("db.gone")
    path.write_text(json.dumps(kinds))
    return copy


@pytest.mark.slow
@pytest.mark.timeout(300)
class TestInAProcess:
    @pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["one process", "xdist"])
    def test_a_lost_tag_fails_a_whole_run(self, folder: Path, options: tuple[str, ...]) -> None:
        if options:
            pytest.importorskip("xdist")
        status, output = run(folder, MODULE, *options)
        assert (status, "neo4j: Exit NEO4J DATABASE: db.gone" in output) == (1, True), output

    @pytest.mark.parametrize(
        "arguments", [(MODULE, "-k", "failure"), (f"{MODULE}::{CALL}",)], ids=["by -k", "by its name"]
    )
    def test_a_part_of_the_tests_judges_nothing(self, folder: Path, arguments: tuple[str, ...]) -> None:
        status, output = run(folder, *arguments)
        assert status == 0, output

    def test_but_where_all_is_there_nothing_is_excused(self, folder: Path) -> None:
        status, output = run(folder, MODULE, "-k", "failure", mode="whole")
        assert (status, "neo4j: Exit NEO4J" in output, "redis: Exit REDIS" in output) == (1, True, True), output


def test_each_file_has_tests_that_see_it_and_say_what_they_talk_to() -> None:
    assert {name for name in collecting.read() if not modules.of(name) or not modules.against(name)} == set()


def test_servers_and_loggers_are_named_as_their_instrumentations_are() -> None:
    names = {each.name for each in libraries.instrumentations()}
    assert names >= libraries.SERVERS | libraries.LOGS


def test_the_readme_counts_what_the_table_does() -> None:
    counted = f"[{len(libraries.client_libraries())} client libraries](docs/libraries.md)"
    assert counted in " ".join((ROOT / "README.md").read_text().split())


def test_the_page_names_nothing_of_a_single_run() -> None:
    shown = [operation for kinds in collecting.read().values() for each in kinds for operation in each.operations]
    assert [name for name in shown if collecting.OF_ONE_TEST.search(name)] == []
