"""All that pages and comments name is there: files, targets of `make`, commands with their options, variables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from swagent import cli

from .project import PROJECT, ROOT

FOLDERS = ("swagent", "transports", "proto_gen", "tests", "stress", "docs")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
SOURCES = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
TEXTS = [*PAGES, ROOT / "pyproject.toml", ROOT / "Makefile", ROOT / ".ci" / "run", *SOURCES]
PATH = re.compile(rf"(?<![\w./{{}}\\-])((?:{'|'.join(FOLDERS)})/[\w./-]*\w)(?![\w{{}}*\\])")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`\n]+)`")
# Paths that represent others, or come with a build.
EXAMPLES = {
    "pyproject.toml": {"swagent/native/build"},
    "docs/testing.md": {"tests/order.json"},
    "tests/fuzz/run.py": {"tests/fuzz/corpus/TARGET"},
    "tests/house/test_pages.py": {"tests/order.json", "tests/fuzz/corpus/TARGET", "swagent/native/build"},
}
# Threads, whose names begin as a command does.
THREADS = {"gauges"}
# Variables of other programs.
FOREIGN = {"SW_CONFIGURATION", "SW_METER_ANALYZER_ACTIVE_FILES"}


def named(pattern: re.Pattern[str], path: Path) -> Iterator[str]:
    """The names in a text, without those that are examples there."""
    examples = EXAMPLES.get(path.relative_to(ROOT).as_posix(), set())
    yield from (each for each in pattern.findall(path.read_text(encoding="utf-8")) if each not in examples)


def code(path: Path) -> Iterator[str]:
    """The code on a page: in the line, or in lines of its own."""
    text = path.read_text(encoding="utf-8")
    for fence in FENCE.findall(text):
        yield from fence.splitlines()[1:-1]
    yield from INLINE.findall(FENCE.sub("", text))


@pytest.mark.gate
def test_each_file_that_is_named_is_there() -> None:
    missing = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in TEXTS
        for name in named(PATH, path)
        if not (ROOT / name).exists()
    }
    assert missing == set()


def test_each_link_leads_to_a_file() -> None:
    link = re.compile(r"\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)")
    missing = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in PAGES
        for name in named(link, path)
        if not (path.parent / name).exists()
    }
    assert missing == set()


def test_make_has_each_target_that_is_named() -> None:
    targets = {*re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE)}
    shown = {each.split()[1] for path in PAGES for each in code(path) if re.match(r"make [a-z]", each)}
    assert len(shown) > 5
    assert shown <= targets


@pytest.mark.skipif(find_spec("grpclib") is None, reason="needs what the collector needs")
def test_each_command_has_the_options_that_are_shown() -> None:
    shown = {
        each.partition("swagent ")[2] for path in PAGES for each in code(path) if re.match(r"(\S+=\S+ )*swagent ", each)
    }
    assert len(shown) > 5
    for line in shown:
        command, *words = line.partition(" -- ")[0].split()
        if command in {"-h", *THREADS}:
            continue
        known = cli._parser(command)._option_string_actions
        assert {each.partition("=")[0] for each in words if re.match(r"--?[a-z]", each)} <= {*known}, line


def test_stress_has_each_command_that_is_named() -> None:
    from stress.__main__ import COMMANDS  # noqa: PLC0415, RUF100  (not on every path)

    shown = {
        each for path in TEXTS for each in re.findall(r"python -m stress ([a-z]+)", path.read_text(encoding="utf-8"))
    }
    assert len(shown) > 5
    assert shown <= {*COMMANDS}


def test_each_variable_that_a_page_names_is_known() -> None:
    variable = re.compile(r"\bSW_[A-Z0-9_]*[A-Z0-9]\b(?!_?\*)")
    known = {each for path in SOURCES if path.parts[len(ROOT.parts)] != "tests" for each in named(variable, path)}
    # made by `make generate` from the settings themselves
    options = ROOT / "docs" / "options.md"
    known |= {*named(variable, options)}
    unknown = {
        f"{path.relative_to(ROOT)}: {each}"
        for path in {*PAGES} - {options}
        for each in named(variable, path)
        if each not in known | FOREIGN
    }
    assert unknown == set()


def test_the_pages_name_the_pythons_that_the_package_does() -> None:
    prefix = "Programming Language :: Python :: 3."
    minors = sorted(int(each[len(prefix) :]) for each in PROJECT["project"]["classifiers"] if each.startswith(prefix))
    oldest, newest = f"3.{minors[0]}", f"3.{minors[-1]}"
    assert PROJECT["project"]["requires-python"] == f">={oldest}"
    assert f"Python {oldest} to {newest}" in (ROOT / "README.md").read_text()
    contributing = (ROOT / "CONTRIBUTING.md").read_text()
    assert f"Python {oldest} to 3.{minors[-2]}" in contributing
    assert f"On {newest} there is `make demo` alone" in contributing


def test_the_changelog_has_each_entry_once() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    entries = re.split(r"^- ", text, flags=re.MULTILINE)[1:]
    variables = Counter(name for entry in entries for name in {*re.findall(r"\bSW_[A-Z_]+\b", entry)})
    twice = {name for name, count in variables.items() if count > 1}
    # the first word of an entry and what it shows as code
    subjects = Counter(re.sub(r"\s+", " ", entry)[:40] for entry in entries)
    assert twice == set()
    assert [subject for subject, count in subjects.items() if count > 1] == []
