"""The libraries of the page have their licences, and its own files keep its policy."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from page.vendored import MANIFEST
from swagent.collector.api.app import PAGE

OWN = sorted(
    each for each in PAGE.rglob("*") if each.suffix in (".js", ".css", ".html") and each.parent.name != "vendor"
)


def test_every_library_keeps_its_licence() -> None:
    for library in json.loads(MANIFEST.read_text()).values():
        (licence,) = [name for name in library["files"] if name.endswith(".LICENSE")]
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
