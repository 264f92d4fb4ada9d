"""The harness finds what it is there for: differences that are planted, and an agent that records nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from differential.comparison import compare
from differential.harness import Harness, seeds_of
from differential.observation import observe
from differential.peers import Peers
from differential.program import Line, Program, World, draw
from differential.registry import all_worlds
from differential.run import run_world

_WORLDS = all_worlds()
_DIFFERENCES = {
    "ends": "os._exit(3)",
    "descriptors": "os.open(os.devnull, os.O_RDONLY)",
    "threads": "threading.Thread(target=threading.Event().wait, daemon=True, name='left').start()",
    "warnings": "warnings.warn('of a wrapper', DeprecationWarning, stacklevel=1)",
    "raises": "1 / 0",
}
"""What a careless wrapper may do, by the place where it shows."""


@pytest.fixture(scope="module")
def harness() -> Iterator[Harness]:
    with Peers() as peers:
        # no race decides about these differences, so one fresh pair is enough to make sure of one
        yield Harness(peers, again=1)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("place", _DIFFERENCES)
def test_what_only_one_side_does_is_found(harness: Harness, place: str) -> None:
    setup = "import os, sys, threading, warnings"
    lines = Line("1 + 1"), Line(f"'swagent' in sys.modules and {_DIFFERENCES[place]}")
    outcome = harness.run(World("differing", (), setup, lines, records=False), seeds_of(1, 10), most=1)
    (finding,) = outcome.findings
    assert len(finding.shortened.lines) == 1
    assert any(each.place.startswith(place) for each in finding.differences)
    assert f"--program {finding.program.seed}" in str(finding)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_an_agent_that_records_nothing_fails(harness: Harness) -> None:
    world = World("idle", (), "", (Line("1 + 1"),))
    assert "has recorded nothing" in run_world(harness, world, [1, 2]).problem


def test_a_seed_draws_the_same_program_always() -> None:
    world = _WORLDS["httpx"]
    assert draw(world, 17) == draw(world, 17)
    assert len({str(draw(world, seed)) for seed in range(20)}) > 15


@pytest.mark.parametrize("name", _WORLDS)
def test_every_call_of_a_world_is_python(name: str) -> None:
    for seed in range(50):
        for _, text in draw(_WORLDS[name], seed).lines:
            compile(f"async def line(): {text}", name, "exec")


def test_values_that_differ_by_nature_count_as_the_same() -> None:
    left = observe([("127.0.0.1", 4711), object(), "at 127.0.0.1:4711 in 0x7f001234", {"sw8": "1-a"}])
    right = observe([("127.0.0.1", 815), object(), "at 127.0.0.1:815 in 0x7faabbcc", {}])
    assert left == right


def test_a_value_that_one_side_has_more_is_a_difference_of_its_own() -> None:
    program = Program("w", 1, "", True, (("r0", "f()"),))
    long = ["x" * 2000, *"abc"]
    found = compare(program, {"events": long}, {"events": [long[0], "more", "a", "B", "c"]})
    assert [each[1:] for each in found] == [("events/1", "(nothing)", "more"), ("events/2", "b", "B")]
    found = compare(program, {"events": [*long, "d"]}, {"events": long})
    assert [each[1:] for each in found] == [("events/4", "d", "(nothing)")]


def test_a_line_is_compared_with_itself() -> None:
    program = Program("w", 1, "", True, (("r0", "first()"), ("r1", "second()")))
    found = compare(program, {"lines": ["a", "a"]}, {"lines": ["b", "a"]})
    assert [(each.line, each.bare, each.agent) for each in found] == [("first()", "a", "b")]


def test_what_has_no_order_is_compared_without_one() -> None:
    program = Program("w", 1, "", True, (("r0", "first()"),))
    bare = {"ends": ["a", "b"], "warnings": [["W", "a", "own.py"], ["W", "b", "x.py"]]}
    agent = {"ends": ["b", "a"], "warnings": [["W", "b", "x.py"], ["W", "a", "wrapper.py"]]}
    assert [str(each.place) for each in compare(program, bare, agent)] == ["warnings/0/2"]
    assert [each.place for each in compare(program, {"ends": ["a", "a"]}, {"ends": ["a"]})] == ["ends/0"]
