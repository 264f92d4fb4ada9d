"""Random programs see the same with and without the agent, whatever library they use.

A thousand programs, always the same; `make fuzz ARGS="differential"` runs ten thousand. A failure says how to run the
one program again. `make test-native` runs those once more where the accelerator does the work.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from differential.comparison import compare
from differential.harness import Harness, seeds_of
from differential.known import KNOWN, Known
from differential.peers import Peers
from differential.program import Program, World
from differential.registry import all_worlds, missing
from differential.run import run_world
from kit.real.jars import UnavailableError
from swagent.startup.tables import LIBRARIES

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

_PROGRAMS = 1000
# the same programs in each run: a change is judged by what it changed, and `make fuzz` draws others
_SEED = 2026
_WORLDS = all_worlds()
# a job runs in another process, and its program would see no more than what comes back
_WITHOUT_WORLD = {"processes"}


@pytest.fixture(scope="module")
def harness() -> Iterator[Harness]:
    with Peers() as peers:
        yield Harness(peers)


@pytest.mark.parametrize("world", [pytest.param(world, id=name) for name, world in _WORLDS.items()])
def test_programs_see_the_same_with_and_without_the_agent(harness: Harness, world: World) -> None:
    _skip_unless_here(harness, world)
    outcome = run_world(harness, world, seeds_of(_SEED, _PROGRAMS // len(_WORLDS) + 1))
    assert not outcome.problem, f"\n{outcome.problem}"
    # what comes and goes is the machine's doing, as long as it is rare
    assert len(outcome.unsteady) <= 1 + outcome.programs // 10, outcome.unsteady


@pytest.mark.parametrize(
    "known",
    [
        pytest.param(known, id=known.reason[:40], marks=[pytest.mark.native] if known.accelerated else [])
        for known in KNOWN
    ],
)
def test_the_known_differences_are_still_there(harness: Harness, known: Known) -> None:
    name, lines = known.witness
    world = _WORLDS[name]
    _skip_unless_here(harness, world)
    loop = world.loops[0] if world.loops else ""
    program = Program(name, 0, loop, True, tuple((f"r{number}", line) for number, line in enumerate(lines)))
    with harness.pair(world) as (pair, _):
        differences = compare(program, *pair.run(program))
    assert any(known.covers(name, each) for each in differences), f"take it from the list: {known.reason}"


def test_every_kind_of_library_has_a_world() -> None:
    kinds = {name.replace("_", "-"): place.split(".")[3] for name, place, *_ in LIBRARIES}
    here = {kinds[name] for name in _WORLDS if name in kinds}
    assert set(kinds.values()) - here == _WITHOUT_WORLD


def _skip_unless_here(harness: Harness, world: World) -> None:
    if absent := missing(world):
        pytest.skip(f"without {', '.join(absent)}")
    try:
        harness.peers.variables(*world.peers)
    except UnavailableError as error:
        pytest.skip(str(error))
