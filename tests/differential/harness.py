"""Runs worlds: draws programs, runs each on both sides, and makes sure of what it finds.

A difference counts when fresh processes show it again, several times; one that comes and goes is the machine's, and is
counted as unsteady. A program that differs is made as short as it gets.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from random import Random

from differential.comparison import Difference, compare
from differential.known import unknown
from differential.pair import Pair
from differential.peers import Peers
from differential.program import Program, World, draw
from differential.shrinking import shorten

_AGAIN = 4
_MANY = 5


@dataclass
class Finding:
    """A program that differs."""

    program: Program
    differences: list[Difference]
    shortened: Program
    after: int = 0
    """How many programs had to run before it, in the same process."""

    def __str__(self) -> str:
        world, seed = self.program.world, self.program.seed
        shown = "\n".join(str(each) for each in self.differences[:8])
        command = f'make fuzz ARGS="differential --world {world} --program {seed}"'
        where = f"on {self.program.loop or 'no loop'}, {'inside' if self.program.is_inside else 'outside'} of a span"
        where += f", after {self.after} others" if self.after else ""
        return f"{world}, {where}; repeat it: {command}\n{self.shortened}\n{shown}"


@dataclass
class Outcome:
    """The outcomes of a world's programs."""

    world: str
    programs: int = 0
    spans: int = 0
    findings: list[Finding] = field(default_factory=list)
    unsteady: list[Program] = field(default_factory=list)
    ends: str = ""
    slowest: tuple[float, int] = (0.0, 0)
    """Seconds, and the seed of the program that took them."""

    @property
    def problem(self) -> str:
        """Why it failed, in one text; empty: it did not."""
        parts = [str(each) for each in self.findings]
        if self.ends:
            parts.append(f"{self.world}: {self.ends}")
        return "\n\n".join(parts)

    def add(self, other: Outcome) -> None:
        """Take another's programs in."""
        self.programs += other.programs
        self.spans += other.spans
        self.findings += other.findings
        self.unsteady += other.unsteady
        self.ends += other.ends
        self.slowest = max(self.slowest, other.slowest)


class Harness:
    """Pairs of processes, as many as it takes.

    :param again: how many fresh pairs have to show a difference once more
    """

    def __init__(self, peers: Peers, again: int = _AGAIN) -> None:
        self.peers = peers
        self._again = again
        self._numbers = count()

    @contextmanager
    def pair(self, world: World) -> Iterator[tuple[Pair, str]]:
        """A fresh one, and its agent's name."""
        number = next(self._numbers)
        instance = f"pair-{number}"
        variables = self.peers.variables(*world.peers)
        with Pair(world, variables, instance, shows_all=number % 2 == 0) as pair:
            yield pair, instance

    def run(self, world: World, seeds: Sequence[int], most: int = 3) -> Outcome:
        """Run the programs of these seeds.

        :param most: after so many findings the rest is left
        """
        outcome = Outcome(world.name)
        left = [draw(world, seed) for seed in seeds]
        while left and len(outcome.findings) < most:
            left = self._run_some(world, left, outcome, most)
        return outcome

    def _run_some(self, world: World, programs: list[Program], outcome: Outcome, most: int) -> list[Program]:
        """Until all are run, or a pair is lost. Returns what is left."""
        suspects: list[Program] = []
        reported = {each[1:] for finding in outcome.findings for each in finding.differences}
        done = 0
        with self.pair(world) as (pair, instance):
            for program in programs:
                done += 1
                began = time.monotonic()
                seen = pair.run(program)
                outcome.slowest = max(outcome.slowest, (time.monotonic() - began, program.seed))
                found = [each for each in unknown(world.name, compare(program, *seen)) if each[1:] not in reported]
                if broken := [each["setup"] for each in seen[0].get("ends", ()) if "setup" in each]:
                    outcome.ends = f"its setup fails: {broken[0]}"
                if found:
                    suspects.append(program)
                    reported.update(each[1:] for each in found)
                if pair.is_lost or len(suspects) > _MANY:
                    break
            was_lost = pair.is_lost
            bare, agent = pair.close()
        if not was_lost and bare["status"] != agent["status"]:
            outcome.ends += f"the processes end differently: {bare} and {agent}"
        outcome.programs += done
        outcome.spans += self.peers.spans[instance]
        for program in suspects:
            if len(outcome.findings) >= most:
                break
            self._judge(world, program, programs[:done], outcome)
        return programs[done:]

    def _judge(self, world: World, program: Program, before: list[Program], outcome: Outcome) -> None:
        with self._fresh(world) as differences:
            steady = differences(program)
            shortened = shorten(program, lambda each: bool(differences(each))) if steady else program
        if steady and (confirmed := self._confirm(world, [], shortened)):
            outcome.findings.append(Finding(program, confirmed, shortened))
            return
        # something that one before it has left in the process may be part of it
        earlier = before[: before.index(program)]
        if confirmed := self._confirm(world, earlier, program):
            outcome.findings.append(Finding(program, confirmed, program, len(earlier)))
        else:
            outcome.unsteady.append(program)

    def _confirm(self, world: World, earlier: list[Program], program: Program) -> list[Difference]:
        """The differences that fresh processes show each time, after others; none where one pair has shown none: what a
        race decides differs by chance."""
        found: list[Difference] = []
        for _ in range(self._again):
            with self._fresh(world) as differences:
                for each in earlier:
                    differences(each)
                found = differences(program)
            if not found:
                break
        return found

    @contextmanager
    def _fresh(self, world: World) -> Iterator[Callable[[Program], list[Difference]]]:
        """How two fresh processes see a program; when they are lost, others take their place."""
        with ExitStack() as stack:
            pairs = [stack.enter_context(self.pair(world))[0]]

            def differences(program: Program) -> list[Difference]:
                if pairs[-1].is_lost:
                    pairs.append(stack.enter_context(self.pair(world))[0])
                return unknown(world.name, compare(program, *pairs[-1].run(program)))

            yield differences


def seeds_of(seed: int, number: int) -> list[int]:
    """The seeds of so many programs."""
    dice = Random(seed)
    return [dice.randrange(10**9) for _ in range(number)]
