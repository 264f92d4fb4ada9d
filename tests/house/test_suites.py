"""Each source has suites that prove it, and each suite proves something: `tests/suites.toml`."""

from __future__ import annotations

import pytest

from suites import EVERY_LOOP, PROVES, ROOT, TESTS, TIERS, suites_of, suites_of_change

SOURCES = ("swagent", "transports", "proto_gen", "stress", "docs/example")
KINDS = ("*.py", "*.js", "*.c", "*.proto")
# They are about the repository and the tests themselves.
PROVE_NO_SOURCE = {"house", "kit", "mutants"}


def test_each_source_has_suites() -> None:
    sources = {
        path.relative_to(ROOT).as_posix()
        for folder in SOURCES
        for kind in KINDS
        for path in (ROOT / folder).rglob(kind)
    }
    assert len(sources) > 600
    assert {each for each in sources if not suites_of(each)} == set()


def test_what_the_table_names_is_there() -> None:
    named = {suite for suites in PROVES.values() for suite in suites} | {*EVERY_LOOP, *TIERS["gate"], *TIERS["slow"]}
    assert {each for each in named if not (TESTS / each).exists()} == set()
    assert {each for each in PROVES if not (ROOT / each).exists()} == set()


def test_each_suite_proves_something() -> None:
    folders = {path.relative_to(TESTS).parts[0] for path in TESTS.rglob("test_*.py")}
    named = {suite.partition("/")[0] for suites in PROVES.values() for suite in suites}
    assert folders - named == PROVE_NO_SOURCE & folders - named


def test_the_longest_path_counts() -> None:
    assert suites_of("swagent/record/logs/text.py")[0] == "tests/logs"
    assert suites_of("swagent/record/limits.py")[0] == "tests/record"
    assert suites_of("README.rst") == []


def test_a_change_selects_the_suites_of_its_files() -> None:
    assert suites_of_change(["tests/wire/test_caches.py", "swagent/self_meters/garbage.py"])[:2] == [
        "tests/wire",
        "tests/meters",
    ]
    assert suites_of_change(["swagent/abc.py", "tests/kit/servers.py"]) == ["tests"]
    assert suites_of_change(["docs/run.md", "LICENSE"]) == suites_of("docs/run.md")
    with pytest.raises(LookupError, match=r"swagent_new.* has no suite"):
        suites_of_change(["swagent_new/x.py"])
