"""Run random programs with and without the agent, and compare all that they see:

make fuzz ARGS="differential --programs 10000 --seed 7"
make fuzz ARGS="differential --world httpx --program 417"
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Sequence

from differential.harness import Harness, Outcome, seeds_of
from differential.peers import Peers
from differential.program import World, draw
from differential.registry import all_worlds, missing
from kit.real.jars import UnavailableError
from swagent import acceleration

_SHARE = 100
"""Programs that one pair of processes runs."""
_SLOW = 10.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status: 0 when nothing differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=10_000, help="in all, for all worlds together")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--world", action="append", help="only this one; may be repeated")
    parser.add_argument("--program", type=int, help="only this one, of the world that is named")
    parser.add_argument("--list", action="store_true", help="say which worlds there are")
    args = parser.parse_args(arguments)
    worlds = {name: world for name, world in all_worlds().items() if not args.world or name in args.world}
    if args.list:
        print("\n".join(f"{name:20} {', '.join(missing(world)) or 'here'}" for name, world in worlds.items()))
        return 0
    with Peers() as peers:
        harness = Harness(peers)
        if args.program is not None:
            return _repeat(harness, next(iter(worlds.values())), args.program)
        print(f"requests, logs and spans: {acceleration.describe()}")
        print(f"seed {args.seed}: repeat it with --seed {args.seed} --programs {args.programs}", flush=True)
        return _run_all(harness, list(worlds.values()), args.programs, args.seed)


def _repeat(harness: Harness, world: World, seed: int) -> int:
    outcome = harness.run(world, [seed])
    print(f"{world.source}{draw(world, seed)}")
    print(outcome.problem or "no difference")
    return bool(outcome.problem)


def _run_all(harness: Harness, worlds: list[World], programs: int, seed: int) -> int:
    began = time.monotonic()
    each = max(programs // len(worlds), 1)
    done, problems = 0, 0
    for world in worlds:
        if absent := missing(world):
            print(f"{world.name}: left out, without {', '.join(absent)}")
            continue
        try:
            harness.peers.variables(*world.peers)
        except UnavailableError as error:
            print(f"{world.name}: left out, {error}")
            continue
        outcome = run_world(harness, world, seeds_of(seed, each))
        done += outcome.programs
        problems += bool(outcome.problem)
        report(outcome, time.monotonic() - began)
    print(f"{done} programs, {problems} worlds with differences, {time.monotonic() - began:.0f} s")
    return bool(problems)


def run_world(harness: Harness, world: World, seeds: list[int]) -> Outcome:
    """A world's programs, in shares of one pair each."""
    whole = Outcome(world.name)
    for start in range(0, len(seeds), _SHARE):
        part = harness.run(world, seeds[start : start + _SHARE])
        whole.add(part)
        if len(whole.findings) > 3:
            break
    if world.records and not whole.spans:
        whole.ends += f"{world.name}: the agent has recorded nothing, so nothing was seen of it"
    return whole


def report(outcome: Outcome, seconds: float) -> None:
    """Say in a line what came of a world, and all of what differs."""
    unsteady = f", {len(outcome.unsteady)} unsteady" if outcome.unsteady else ""
    print(
        f"{outcome.world:20} {outcome.programs} programs, {outcome.spans} spans{unsteady} ({seconds:.0f} s)", flush=True
    )
    if outcome.slowest[0] > _SLOW:
        print(f"  {outcome.slowest[0]:.0f} s for --program {outcome.slowest[1]}")
    for program in outcome.unsteady[:2]:
        print(f"  not twice the same: --world {program.world} --program {program.seed}")
    if outcome.problem:
        print(outcome.problem, flush=True)


if __name__ == "__main__":
    sys.exit(main())
