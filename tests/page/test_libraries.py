"""The libraries in the tree are those that the manifest names, and the page's own files keep its policy."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

from swagent.collector.api.app import PAGE

SCRIPT = Path(__file__).with_name("vendored.py")
OWN = sorted(
    each for each in PAGE.rglob("*") if each.suffix in (".js", ".css", ".html") and each.parent.name != "vendor"
)


@pytest.fixture
def vendored(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("vendored", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # where its dataclasses look
    spec.loader.exec_module(module)
    return module


def test_the_tree_is_as_the_manifest_says(vendored: ModuleType) -> None:
    assert vendored.check(PAGE / "vendor") == []


@pytest.mark.parametrize("change", ["edited", "missing", "added"])
def test_a_tree_that_differs_is_noticed(vendored: ModuleType, tmp_path: Path, change: str) -> None:
    tree = tmp_path / "vendor"
    shutil.copytree(PAGE / "vendor", tree)
    if change == "edited":
        (tree / "htm.js").write_bytes((tree / "htm.js").read_bytes() + b" ")
    elif change == "missing":
        (tree / "uplot.LICENSE").unlink()
    else:
        (tree / "more.js").write_text("")
    assert len(vendored.check(tree)) == 1


def test_every_library_keeps_its_licence(vendored: ModuleType) -> None:
    for library in vendored.LIBRARIES:
        (licence,) = [name for _, name in library.files if name.endswith(".LICENSE")]
        assert "opyright" in (PAGE / "vendor" / licence).read_text()


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name)
def test_own_files_load_nothing_from_elsewhere_and_parse_no_text_as_markup(path: Path) -> None:
    text = path.read_text()
    assert set(re.findall(r"https?://[^\s\"'`<)]+", text)) <= {"http://www.w3.org/2000/svg"}
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|dangerouslySetInnerHTML|\beval\(|new Function", text
    )
    if path.suffix == ".html":
        assert not re.search(r"<script(?![^>]*src=)|<style|\sstyle=|\son\w+=", text)


def test_the_first_view_s_modules_are_loaded_at_once_and_all_others_are_used() -> None:
    seen = set(re.findall(r'<link rel="modulepreload" href="assets/([^"]+)">', (PAGE / "index.html").read_text()))
    assert seen == _imported(r"^(?:import|export)[^;]*? from '([^']+)'") - {"main.js"}
    modules = {each.relative_to(PAGE).as_posix() for each in PAGE.rglob("*.js")}
    assert _imported(r"(?: from |\bimport\()'(\.[^']+)'") == modules - {"early.js"}


def _imported(pattern: str) -> set[str]:
    """The modules that the first one leads to, by the imports that a pattern finds."""
    found: set[str] = set()
    waiting = {"main.js"}
    while waiting:
        module = waiting.pop()
        found.add(module)
        paths = re.findall(pattern, (PAGE / module).read_text(), re.MULTILINE)
        waiting |= {os.path.normpath(Path(module).parent / path) for path in paths} - found
    return found
