"""A tag, a kind or an operation that a library's file names and its tests no longer see fails a whole run of them."""

from __future__ import annotations

from pathlib import Path

from instrument import collecting, libraries, modules

ROOT = Path(__file__).parents[2]


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
